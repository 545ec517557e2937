import { useSignal } from "@preact/signals";
import type { Field } from "../../api/types.ts";
import { setValue } from "../../pure/edit.ts";
import { shownValue, startValue, typedValue, variantOf } from "../../pure/form.ts";
import { encodeString, readJson } from "../../pure/json.ts";
import { Button } from "../bits.tsx";
import { Completed } from "./completed.tsx";
import { type FieldPlace, idOf } from "./context.ts";
import { FieldView } from "./field.tsx";
import { Fields } from "./form.tsx";

type Props = { field: Field; place: FieldPlace; raw: string | undefined };

/** The input of a field, by its kind. */
export function Input({ field, place, raw }: Props) {
  const { context, path } = place;
  const id = idOf(place);
  const set = (value: string) => context.onChange(setValue(context.text, path, value));
  const attributes = { id, "aria-describedby": field.help ? `${id}-help` : undefined };
  const { kind } = field;
  switch (kind.kind) {
    case "boolean":
      return (
        <Segments
          id={id}
          label={field.name}
          choices={[
            { value: "true", title: "true" },
            { value: "false", title: "false" },
          ]}
          raw={raw}
          onChange={set}
        />
      );
    case "choice":
      return (
        <select
          {...attributes}
          value={raw ?? ""}
          onChange={(event) => {
            if (event.currentTarget.value !== "") {
              set(event.currentTarget.value);
            }
          }}
        >
          {raw === undefined && <option value="">not set</option>}
          {raw !== undefined && !kind.choices.some((choice) => choice.value === raw) && (
            <option value={raw}>{raw}</option>
          )}
          {kind.choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.title}
            </option>
          ))}
        </select>
      );
    case "list":
      return <List field={field} place={place} raw={raw} />;
    case "object":
      return (
        <div class="field-inner">
          <Fields fields={kind.fields} place={place} />
        </div>
      );
    case "union":
      return <Union field={field} place={place} raw={raw} />;
    case "file":
      return <File id={id} raw={raw} mediaType={kind.mediaType} onChange={set} />;
    case "raw":
      return <RawInput id={id} raw={raw} onChange={set} />;
    case "text":
    case "number":
    case "integer":
    case "date": {
      const complete = context.complete && path.length === 1 ? context.complete : undefined;
      const isPlain = kind.kind === "text" && !kind.rules.secret && !complete;
      return (
        <Completed
          id={id}
          helpId={attributes["aria-describedby"]}
          placeholder={kind.kind === "date" ? DATES[kind.date] : undefined}
          isNumber={kind.kind === "number" || kind.kind === "integer"}
          isSecret={kind.kind === "text" && kind.rules.secret}
          isLong={isPlain || shownValue(raw).includes("\n")}
          value={shownValue(raw)}
          complete={complete}
          name={field.name}
          onChange={(typed) => set(typedValue(kind.kind, typed))}
        />
      );
    }
  }
}

const DATES = { date: "2026-11-28", time: "17:05:00Z", dateTime: "2026-11-28T17:05:00Z" };

type SegmentsProps = {
  id: string;
  label: string;
  choices: readonly { value: string; title: string }[];
  raw: string | undefined;
  onChange: (value: string) => void;
};

function Segments({ id, label, choices, raw, onChange }: SegmentsProps) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map(({ value, title }, index) => (
        <button
          key={value}
          id={index === 0 ? id : undefined}
          type="button"
          aria-pressed={raw === value}
          onClick={() => onChange(value)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

function List({ field, place, raw }: Props) {
  const { context, path } = place;
  const node = raw === undefined ? undefined : readJson(raw).node;
  const items = node?.items ?? [];
  if (field.kind.kind !== "list" || (node && node.kind !== "array")) {
    return <p class="field-remark">The value is not a list: the JSON tab shows it.</p>;
  }
  const { item } = field.kind;
  const add = () => {
    const next = [...path, items.length];
    context.onChange(setValue(context.text, next, item.default ?? startValue(item.kind)));
  };
  return (
    <div class="field-inner" id={idOf(place)}>
      {items.map((one, index) => (
        <FieldView key={one.start} field={item} place={{ context, path: [...path, index] }} />
      ))}
      <Button icon="plus" label="Add an item" onClick={add} />
    </div>
  );
}

function Union({ field, place, raw }: Props) {
  const chosen = useSignal<number | undefined>(undefined);
  if (field.kind.kind !== "union") {
    return null;
  }
  const { variants } = field.kind;
  const index = chosen.value ?? variantOf(variants, raw);
  const variant = variants[index];
  const set = (value: string) =>
    place.context.onChange(setValue(place.context.text, place.path, value));
  return (
    <div class="field-union">
      <select
        aria-label={`Kind of ${field.name}`}
        value={String(index)}
        onChange={(event) => {
          chosen.value = Number(event.currentTarget.value);
          const next = variants[chosen.value];
          if (next) {
            set(next.field.default ?? startValue(next.field.kind));
          }
        }}
      >
        {variants.map(({ title }, at) => (
          <option key={at} value={String(at)}>
            {title}
          </option>
        ))}
      </select>
      {variant && <Input field={{ ...variant.field, name: field.name }} place={place} raw={raw} />}
    </div>
  );
}

type FileProps = {
  id: string;
  raw: string | undefined;
  mediaType: string | null;
  onChange: (value: string) => void;
};

function File({ id, raw, mediaType, onChange }: FileProps) {
  const read = (file: File | undefined) => {
    if (file) {
      const reader = new FileReader();
      reader.onload = () => onChange(encodeString(String(reader.result).replace(/^[^,]*,/, "")));
      reader.readAsDataURL(file);
    }
  };
  return (
    <div class="field-file">
      <input
        id={id}
        type="file"
        accept={mediaType ?? undefined}
        onChange={(event) => read(event.currentTarget.files?.[0])}
      />
      {raw !== undefined && <span class="quiet">{raw.length - 2} characters of Base64</span>}
    </div>
  );
}

/** An input for any JSON. What is not JSON stays in the input and is not part of the arguments. */
function RawInput(props: {
  id: string;
  raw: string | undefined;
  onChange: (value: string) => void;
}) {
  const { id, raw, onChange } = props;
  const typed = useSignal<string | undefined>(undefined);
  const fault = typed.value === undefined ? undefined : readJson(typed.value).fault;
  return (
    <>
      <textarea
        id={id}
        class="code"
        rows={Math.min(12, (typed.value ?? raw ?? "").split("\n").length)}
        spellcheck={false}
        value={typed.value ?? raw ?? ""}
        onInput={(event) => {
          const text = event.currentTarget.value;
          const isJson = readJson(text).node !== undefined;
          typed.value = isJson ? undefined : text;
          if (isJson) {
            onChange(text);
          }
        }}
      />
      {fault && <p class="field-fault">Not JSON, and not sent: {fault.sentence}</p>}
    </>
  );
}
