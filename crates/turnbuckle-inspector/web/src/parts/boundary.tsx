import { Component, type ComponentChildren } from "preact";
import { Button, Failure } from "./bits.tsx";

type Props = { name: string; children: ComponentChildren };
type State = { error: string | undefined };

/** Keeps a fault of one pane in that pane. */
export class Boundary extends Component<Props, State> {
  override state: State = { error: undefined };

  static override getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) {
      return this.props.children;
    }
    return (
      <Failure text={`The ${this.props.name} could not be shown: ${error}`}>
        <Button label="Show it again" onClick={() => this.setState({ error: undefined })} />
      </Failure>
    );
  }
}
