// The parameters of the request that uses an item.

import type { ItemKind } from "../../api/types.ts";
import { encodeString } from "../../pure/json.ts";

const NAMES: Record<ItemKind, string> = {
  tools: "Call",
  resources: "Read",
  templates: "Read",
  prompts: "Get",
  skills: "Read",
  tasks: "Get",
};

/** Returns the verb of the button that sends the request. */
export function requestName(kind: ItemKind): string {
  return NAMES[kind];
}

/** Returns the parameters as JSON text. The text of the arguments is taken over byte for byte. The
 *  name of a template is the URI that it expands to. */
export function paramsOf(kind: ItemKind, name: string, args: string): string {
  switch (kind) {
    case "tools":
    case "prompts":
      return `{"name":${encodeString(name)},"arguments":${args}}`;
    case "resources":
    case "skills":
    case "templates":
      return `{"uri":${encodeString(name)}}`;
    case "tasks":
      return `{"taskId":${encodeString(name)}}`;
  }
}
