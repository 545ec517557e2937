import { Boundary } from "../../parts/boundary.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Split } from "../../parts/split.tsx";
import type { Place } from "../../pure/place.ts";
import { changePlace } from "../../store/actions.ts";
import {
  consentTo,
  inspector,
  isItemKind,
  itemKey,
  link,
  narrowPage,
  overlay,
  place,
  section,
  session,
} from "../../store/state.ts";
import { Connect, ConnectForm } from "../connect/connect.tsx";
import { ConsentDialog } from "../connect/consent.tsx";
import { FindingsPane } from "../findings/findings.tsx";
import { InboxList, InboxWork } from "../inbox/inbox.tsx";
import { ListPane } from "../lists/list.tsx";
import { Keys } from "../palette/keys.tsx";
import { Palette } from "../palette/palette.tsx";
import { Rail } from "../rail/rail.tsx";
import { RequestDialog } from "../request/request.tsx";
import { ConnectionPage, ConnectionPane } from "../server/connection.tsx";
import { ServerPane } from "../server/server.tsx";
import { WireDrawer } from "../wire/wire.tsx";
import { Workbench } from "../workbench/workbench.tsx";
import { NarrowBar } from "./narrow.tsx";
import { Locked, Lost, Notice } from "./states.tsx";

/** The whole page: the panes, and what lies over them. */
export function Shell() {
  if (link.value === "locked") {
    return <Locked />;
  }
  if (!inspector.value) {
    return link.value === "lost" ? <Lost /> : <div class="shell" aria-busy="true" />;
  }
  const isKnown = session.value?.server !== null;
  const hasList = (isItemKind(section.value) && isKnown) || section.value === "inbox";
  const { sizes, wire } = place.value;
  return (
    <div class="shell" data-page={narrowPage.value}>
      <header class="sr-only">
        <h1>turnbuckle inspect</h1>
      </header>
      {link.value === "lost" && (
        <p class="banner" role="alert">
          <Icon name="alert" />
          turnbuckle does not answer. The page goes on when it is back.
        </p>
      )}
      {/* A narrow window shows one of the panes: each is in the main landmark. */}
      <main class="all-panes">
        <div class="panes">
          <nav
            class="pane pane-rail"
            aria-label="Servers"
            data-pane="rail"
            style={{ "--size": `${sizes.rail}px` }}
          >
            <Boundary name="list of servers">
              <Rail />
            </Boundary>
            <SizeSplit name="rail" label="Width of the servers" min={160} max={480} />
          </nav>
          {hasList && session.value && (
            <section
              class="pane pane-list"
              data-pane="list"
              style={{ "--size": `${sizes.list}px` }}
              aria-label="List"
            >
              <Boundary key={`${session.value.id}/${section.value}`} name="list">
                <ListOf />
              </Boundary>
              <SizeSplit name="list" label="Width of the list" min={180} max={800} />
            </section>
          )}
          <section class="pane pane-work" data-pane="work" aria-label="Item">
            <Boundary key={`${session.value?.id}/${section.value}/${itemKey.value}`} name="item">
              <WorkOf />
            </Boundary>
          </section>
        </div>
        <section
          class={`pane pane-wire ${wire.isOpen ? "" : "is-closed"}`}
          data-pane="wire"
          style={{ "--size": wire.isOpen ? `${sizes.wire}px` : "auto" }}
          aria-label="Wire"
        >
          {wire.isOpen && <WireSplit />}
          <Boundary name="wire">
            <WireDrawer />
          </Boundary>
        </section>
      </main>
      <NarrowBar />
      <Overlay />
      <Notice />
    </div>
  );
}

function ListOf() {
  const current = session.value;
  const kind = section.value;
  if (kind === "inbox") {
    return <InboxList />;
  }
  return current && isItemKind(kind) ? (
    <ListPane key={`${current.id}/${kind}`} session={current} kind={kind} />
  ) : null;
}

function WorkOf() {
  const current = session.value;
  const kind = section.value;
  if (!current) {
    return (
      <div class="welcome">
        <h2>Connect to a server</h2>
        <ConnectForm />
      </div>
    );
  }
  if (kind === "inbox") {
    return <InboxWork />;
  }
  if (kind === "server") {
    return <ServerPane session={current} />;
  }
  if (current.server === null) {
    return <ConnectionPage key={current.id} session={current} />;
  }
  if (kind === "findings") {
    return <FindingsPane key={current.id} session={current} />;
  }
  const isAway = current.connection.state !== "ready";
  return (
    <>
      {isAway && <ConnectionPane session={current} />}
      <Workbench session={current} kind={kind} />
    </>
  );
}

type SizeName = "rail" | "list";

function SizeSplit(props: { name: SizeName; label: string; min: number; max: number }) {
  const { name, label, min, max } = props;
  return (
    <Split
      axis="x"
      label={label}
      value={place.value.sizes[name]}
      min={min}
      max={max}
      step={16}
      measure={(event, handle) => {
        const pane = handle.parentElement?.getBoundingClientRect();
        return pane ? event.clientX - pane.left : place.value.sizes[name];
      }}
      onChange={(value) => setSize(name, value)}
    />
  );
}

function WireSplit() {
  return (
    <Split
      axis="y"
      label="Height of the wire"
      value={place.value.sizes.wire}
      min={80}
      max={Math.max(120, innerHeight - 200)}
      step={16}
      isAfter
      measure={(event) => innerHeight - event.clientY}
      onChange={(value) => setSize("wire", value)}
    />
  );
}

function setSize(name: keyof Place["sizes"], value: number): void {
  changePlace(({ sizes }) => ({ sizes: { ...sizes, [name]: Math.round(value) } }));
}

function Overlay() {
  switch (overlay.value) {
    case "palette":
      return <Palette />;
    case "connect":
      return <Connect />;
    case "consent": {
      const server = consentTo.value;
      return server?.consent ? <ConsentDialog server={server} consent={server.consent} /> : null;
    }
    case "keys":
      return <Keys />;
    case "request":
      return session.value ? <RequestDialog session={session.value} /> : null;
    case undefined:
      return null;
  }
}
