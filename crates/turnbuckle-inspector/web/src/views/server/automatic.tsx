import { useSignal } from "@preact/signals";
import { api } from "../../api/client.ts";
import type { AutomaticAnswers, Session } from "../../api/types.ts";
import { readJson } from "../../pure/json.ts";
import { attempt } from "../../store/actions.ts";

const SAMPLING = '{"role":"assistant","content":{"type":"text","text":""},"model":"none"}';
const ROOTS = '{"roots":[]}';

/** The questions of a server that are answered without the person. */
export function Automatic({ session }: { session: Session }) {
  const { automatic } = session;
  const set = (change: Partial<AutomaticAnswers>) =>
    void attempt(() => api.setAutomatic(session.id, { ...automatic, ...change }));
  return (
    <>
      <h2>Answers without you</h2>
      <p class="quiet">
        Questions of the server wait in the inbox for you, unless they are answered here.
      </p>
      <div class="automatic">
        <Choice
          label="Forms"
          value={automatic.forms}
          answers={{ defaults: "accept with the defaults", decline: "decline" }}
          onChange={(forms) => set({ forms })}
        />
        <Choice
          label="Pages to visit"
          value={automatic.urls}
          answers={{ decline: "decline" }}
          onChange={(urls) => set({ urls })}
        />
        <Text
          label="Sampling"
          value={automatic.sampling}
          start={SAMPLING}
          onChange={(sampling) => set({ sampling })}
        />
        <Text
          label="Roots"
          value={automatic.roots}
          start={ROOTS}
          onChange={(roots) => set({ roots })}
        />
      </div>
    </>
  );
}

type ChoiceProps<T extends string> = {
  label: string;
  value: T | null;
  answers: Record<T, string>;
  onChange: (value: T | null) => void;
};

function Choice<T extends string>({ label, value, answers, onChange }: ChoiceProps<T>) {
  const names = Object.entries(answers) as [T, string][];
  return (
    <label>
      <span>{label}</span>
      <select
        value={value ?? ""}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          onChange(names.find(([name]) => name === chosen)?.[0] ?? null);
        }}
      >
        <option value="">ask me</option>
        {names.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

type TextProps = {
  label: string;
  value: string | null;
  start: string;
  onChange: (value: string | null) => void;
};

/** An answer that is JSON text: it is used from when the field is left. */
function Text({ label, value, start, onChange }: TextProps) {
  const typed = useSignal<string | undefined>(undefined);
  const fault = typed.value === undefined ? undefined : readJson(typed.value).fault;
  return (
    <>
      <label>
        <span>{label}</span>
        <select
          value={value === null ? "" : "text"}
          onChange={(event) => onChange(event.currentTarget.value === "" ? null : start)}
        >
          <option value="">ask me</option>
          <option value="text">answer with this JSON</option>
        </select>
      </label>
      {value !== null && (
        <textarea
          class="code"
          rows={3}
          aria-label={`Answer: ${label}`}
          spellcheck={false}
          value={typed.value ?? value}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
          }}
          onChange={(event) => {
            const text = event.currentTarget.value;
            if (readJson(text).node !== undefined) {
              typed.value = undefined;
              onChange(text);
            }
          }}
        />
      )}
      {fault && <p class="field-fault">Not JSON, and not used: {fault.sentence}</p>}
    </>
  );
}
