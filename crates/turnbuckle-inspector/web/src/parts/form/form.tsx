import type { Field, Form } from "../../api/types.ts";
import { countMembers, findNode } from "../../pure/edit.ts";
import { otherMembers } from "../../pure/form.ts";
import { lineAndColumn, readJson } from "../../pure/json.ts";
import { Failure } from "../bits.tsx";
import { Marked } from "../marked.tsx";
import type { FieldPlace, FormContext } from "./context.ts";
import { FieldView } from "./field.tsx";

/** The fields of a form. They show and change the JSON text of the context, and nothing else. */
export function FormView({ form, context }: { form: Form; context: FormContext }) {
  const { node, fault } = readJson(context.text);
  if (fault) {
    const { line, column } = lineAndColumn(context.text, fault.at);
    return (
      <Failure
        text={`The arguments are not JSON: ${fault.sentence} (line ${line}, column ${column}).`}
      >
        <p>Mend them in the JSON tab, then the form is back.</p>
      </Failure>
    );
  }
  if (node.kind !== "object") {
    return <Failure text="The arguments are not an object. The JSON tab shows them." />;
  }
  return (
    <div class="form">
      <Fields fields={form.fields} place={{ context, path: [] }} />
      {form.fields.length === 0 && <p class="quiet">No arguments.</p>}
      {form.leftOut.map((sentence) => (
        <p key={sentence} class="quiet">
          {sentence}
        </p>
      ))}
    </div>
  );
}

/** The fields of one object, and the names of members that have no field. */
export function Fields({ fields, place }: { fields: readonly Field[]; place: FieldPlace }) {
  const root = readJson(place.context.text).node;
  const node = root && findNode(root, place.path);
  const others = otherMembers(fields, node);
  return (
    <>
      {fields.map((field) => (
        <FieldView
          key={field.name}
          field={field}
          place={{ context: place.context, path: [...place.path, field.name] }}
          isRepeated={countMembers(node, field.name) > 1}
        />
      ))}
      {others.length > 0 && (
        <p class="quiet field-others">
          Also sent, without a field: <Marked text={others.join(", ")} />
        </p>
      )}
    </>
  );
}
