import type { Field } from "../../api/types.ts";
import { rawAt, removeValue, setValue } from "../../pure/edit.ts";
import { kindRemark, shownValue, startValue } from "../../pure/form.ts";
import { Button } from "../bits.tsx";
import { Marked } from "../marked.tsx";
import { type FieldPlace, faultsOf, idOf } from "./context.ts";
import { Input } from "./input.tsx";

type Props = { field: Field; place: FieldPlace; isRepeated?: boolean };

/** A field: its label, its input, its help and its faults. */
export function FieldView({ field, place, isRepeated = false }: Props) {
  const { context, path } = place;
  const id = idOf(place);
  const raw = rawAt(context.text, path);
  const faults = faultsOf(place);
  const remark = isRepeated
    ? "The name is there twice: the JSON tab shows both, the field the last."
    : kindRemark(field.kind.kind, raw);
  const set = (value: string) => context.onChange(setValue(context.text, path, value));
  const isGroup = field.kind.kind === "object" || field.kind.kind === "list";
  const isInList = typeof path.at(-1) === "number";
  return (
    <div class={`field ${isGroup ? "field-group" : ""} ${faults.length > 0 ? "has-fault" : ""}`}>
      <div class="field-head">
        <label for={id} id={`${id}-label`}>
          <span class="field-name">
            <Marked text={isInList ? `${path.at(-1)}` : field.name} />
          </span>
          {field.required && (
            <span class="field-required" title="The value is required">
              *
            </span>
          )}
          {field.title && field.title !== field.name && (
            <span class="field-title">
              <Marked text={field.title} />
            </span>
          )}
        </label>
        <span class="field-kind">
          {kindName(field)}
          {raw === undefined && field.default !== null && (
            <>
              {" · default "}
              <button
                type="button"
                class="field-value"
                onClick={() => set(field.default ?? "null")}
              >
                <Marked text={shownValue(field.default)} />
              </button>
            </>
          )}
        </span>
        {field.header && (
          <span class="tag tag-quiet" title="The value is also sent in this HTTP header">
            {field.header}
          </span>
        )}
        {raw === undefined && isGroup && (
          <Button icon="plus" label="Add" onClick={() => set(startValue(field.kind))} />
        )}
        {field.nullable && raw !== "null" && (
          <button type="button" class="field-action" onClick={() => set("null")}>
            null
          </button>
        )}
        {raw !== undefined && (
          <button
            type="button"
            class="field-action"
            title="Take the value out: nothing is sent for this name"
            aria-label={`Remove ${field.name || path.at(-1)}`}
            onClick={() => context.onChange(removeValue(context.text, path))}
          >
            remove
          </button>
        )}
      </div>
      {(raw !== undefined || !isGroup) && <Input field={field} place={place} raw={raw} />}
      {remark && <p class="field-remark">{remark}</p>}
      {faults.map((sentence) => (
        <p key={sentence} class="field-fault">
          <Marked text={sentence} />
        </p>
      ))}
      {field.help && (
        <p class="field-help" id={`${id}-help`}>
          <Marked text={field.help} />
        </p>
      )}
      {raw === undefined && field.examples.length > 0 && (
        <p class="field-help">
          such as{" "}
          {field.examples.slice(0, 3).map((example) => (
            <button key={example} type="button" class="field-value" onClick={() => set(example)}>
              <Marked text={shownValue(example)} />
            </button>
          ))}
        </p>
      )}
    </div>
  );
}

/** Returns the kind of a field with its limits, in a few words. */
function kindName({ kind }: Field): string {
  switch (kind.kind) {
    case "text": {
      const { format, minCharacters, maxCharacters } = kind.rules;
      return words(format ?? "text", range(minCharacters, maxCharacters));
    }
    case "number":
    case "integer":
      return words(kind.kind, range(kind.minimum, kind.maximum), kind.step && `step ${kind.step}`);
    case "choice":
      return `one of ${kind.choices.length}`;
    case "date":
      return kind.date === "dateTime" ? "date and time" : kind.date;
    case "file":
      return words("file", kind.mediaType);
    case "list":
      return words("list", range(kind.minimum, kind.maximum), kind.unique && "no duplicates");
    case "union":
      return `one of ${kind.variants.length} kinds`;
    case "raw":
      return "JSON";
    case "boolean":
    case "object":
      return kind.kind;
  }
}

function words(...parts: (string | null | false)[]): string {
  return parts.filter(Boolean).join(", ");
}

function range(low: string | number | null, high: string | number | null): string | null {
  if (low !== null && high !== null) {
    return `${low} to ${high}`;
  }
  return low !== null ? `≥ ${low}` : high !== null ? `≤ ${high}` : null;
}
