import type { ServerEntry, Session } from "../../api/types.ts";
import { Button } from "../../parts/bits.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Marked } from "../../parts/marked.tsx";
import { count, duration } from "../../pure/format.ts";
import type { Section } from "../../pure/place.ts";
import { connectTo, selectSection, selectSession } from "../../store/actions.ts";
import { keyLabel } from "../../store/commands.ts";
import {
  inspector,
  nameOf,
  openQuestions,
  overlay,
  section,
  session,
  sessions,
} from "../../store/state.ts";
import { SECTIONS, type SectionFacts, summaryOf } from "../sections.ts";
import { stateOf } from "./status.ts";
import { ThemeSwitch } from "./theme.tsx";

/** The servers, the sections of the selected one, and the actions of the whole page. */
export function Rail() {
  const others = inspector.value?.servers.filter((server) => !isOpen(server)) ?? [];
  return (
    <>
      <div class="rail-head">
        <span class="brand">
          <Icon name="plug" />
          turnbuckle
        </span>
        <Button
          icon="search"
          label="Commands"
          isBare
          keys={keyLabel("Mod+K")}
          onClick={() => (overlay.value = "palette")}
        />
        <Button
          icon="plus"
          label="Connect"
          isBare
          keys="C"
          onClick={() => (overlay.value = "connect")}
        />
      </div>
      <div class="rail-scroll">
        {sessions.value.map((one) => (
          <SessionEntry key={one.id} one={one} isCurrent={one.id === session.value?.id} />
        ))}
        {others.length > 0 && (
          <>
            <h2 class="rail-title">Not connected</h2>
            {others.map((server) => (
              <OtherServer key={`${server.name} ${server.address}`} server={server} />
            ))}
          </>
        )}
      </div>
      <div class="rail-foot">
        <InboxButton />
        <ThemeSwitch />
        <button
          type="button"
          class="button button-plain button-bare"
          aria-label="Keys"
          title="Keys (?)"
          onClick={() => (overlay.value = "keys")}
        >
          ?
        </button>
      </div>
    </>
  );
}

function isOpen(server: ServerEntry): boolean {
  const source = JSON.stringify(server.source);
  return sessions.value.some((one) => JSON.stringify(one.source) === source);
}

function SessionEntry({ one, isCurrent }: { one: Session; isCurrent: boolean }) {
  const { tone, text } = stateOf(one);
  const isReady = one.connection.state === "ready";
  return (
    <div class={`server ${isCurrent ? "is-current" : ""}`}>
      <button
        type="button"
        class="server-head"
        aria-current={isCurrent ? "true" : undefined}
        title={one.address}
        onClick={() => selectSession(one.id)}
      >
        <span class={`dot dot-${tone}`} />
        <span class="server-name">
          <Marked text={nameOf(one)} />
        </span>
        <span class="server-latency">{one.latencyUs !== null && duration(one.latencyUs)}</span>
        <span class="server-state">
          {isReady && one.server ? (
            <>
              {one.server.revision}
              <span class={`era ${one.server.isLegacy ? "" : "era-modern"}`}>
                {one.server.isLegacy ? "legacy" : "modern"}
              </span>
              {one.transport === "program" ? "program" : one.transport.toUpperCase()}
            </>
          ) : (
            text
          )}
        </span>
      </button>
      {isCurrent && (
        <div class="sections">
          {SECTIONS.filter((facts) => facts.id !== "inbox").map((facts) => (
            <SectionEntry key={facts.id} facts={facts} />
          ))}
        </div>
      )}
    </div>
  );
}

function SectionEntry({ facts }: { facts: SectionFacts }) {
  const summary = summaryOf(session.value, facts.id);
  const isCurrent = section.value === facts.id;
  const isList = !["server", "findings"].includes(facts.id);
  return (
    <button
      type="button"
      class={`section ${isCurrent ? "is-current" : ""} ${isList && !summary ? "is-missing" : ""}`}
      aria-current={isCurrent ? "page" : undefined}
      title={`${facts.title} (${facts.key})`}
      onClick={() => selectSection(facts.id)}
    >
      <Icon name={facts.icon} />
      <span class="section-title">{facts.title}</span>
      {summary?.hasError && <Icon name="alert" />}
      {summary && (
        <span class={`count ${summary.isLoading ? "is-loading" : ""}`}>{count(summary.total)}</span>
      )}
    </button>
  );
}

function OtherServer({ server }: { server: ServerEntry }) {
  return (
    <button
      type="button"
      class="server-head server-other"
      disabled={server.fault !== null}
      title={server.fault ?? `Connect to ${server.address}`}
      onClick={() => void connectTo(server)}
    >
      <span class="dot dot-none" />
      <span class="server-name">
        <Marked text={server.name} />
      </span>
      <span class="server-state">{server.fault ?? server.origin ?? server.address}</span>
    </button>
  );
}

function InboxButton() {
  const waiting = openQuestions.value.length;
  const target: Section = "inbox";
  return (
    <button
      type="button"
      class={`section rail-inbox ${section.value === target ? "is-current" : ""}`}
      title="Inbox (9)"
      onClick={() => selectSection(target)}
    >
      <Icon name="inbox" />
      <span class="section-title">Inbox</span>
      {waiting > 0 && <span class="badge">{waiting}</span>}
    </button>
  );
}
