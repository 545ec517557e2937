// What all fields of one form share.

import type { Fault } from "../../api/types.ts";
import { type JsonPath, toPointer } from "../../pure/edit.ts";

export type FormContext = {
  /** The prefix of the ids of the form's elements. */
  id: string;
  /** The JSON text of all values. */
  text: string;
  faults: readonly Fault[];
  onChange: (text: string) => void;
  /** Returns the values that the server suggests for an argument; undefined if it suggests none. */
  complete?: ((name: string, typed: string) => Promise<string[]>) | undefined;
};

export type FieldPlace = { context: FormContext; path: JsonPath };

/** Returns the id of a field's element. */
export function idOf({ context, path }: FieldPlace): string {
  return `${context.id}-${path.map((part) => String(part).replace(/[^\w]/g, "_")).join("-")}`;
}

/** Returns the sentences of the faults of a field. */
export function faultsOf({ context, path }: FieldPlace): string[] {
  const pointer = toPointer(path);
  return context.faults.filter((fault) => fault.path === pointer).map(({ sentence }) => sentence);
}
