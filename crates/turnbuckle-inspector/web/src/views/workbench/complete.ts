import { api } from "../../api/client.ts";
import type { ItemDefinition, ItemKind, Session } from "../../api/types.ts";
import { stringAt } from "../../pure/edit.ts";

/** Returns the completion of an item's arguments, if the server completes them. */
export function completer(
  session: Session,
  kind: ItemKind,
  { canComplete, row, form }: ItemDefinition,
  text: string,
): ((name: string, typed: string) => Promise<string[]>) | undefined {
  if (!canComplete || (kind !== "prompts" && kind !== "templates")) {
    return undefined;
  }
  return async (argument, value) => {
    const context: Record<string, string> = {};
    for (const { name } of form.fields) {
      const other = name === argument ? undefined : stringAt(text, [name]);
      if (other !== undefined) {
        context[name] = other;
      }
    }
    const target = kind === "prompts" ? "prompt" : "template";
    const request = { target, name: row.name, argument, value, context } as const;
    return (await api.complete(session.id, request)).values;
  };
}
