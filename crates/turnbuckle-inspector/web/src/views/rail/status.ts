import type { Session, Step } from "../../api/types.ts";

export type Tone = "ok" | "busy" | "error" | "none";

const STEPS: Record<Step, { doing: string; noun: string }> = {
  start: { doing: "starting the program", noun: "starting the program" },
  resolve: { doing: "resolving the host", noun: "resolving the host (DNS)" },
  connect: { doing: "connecting", noun: "the TCP connection" },
  tls: { doing: "TLS handshake", noun: "the TLS handshake" },
  http: { doing: "first HTTP request", noun: "the first HTTP request" },
  authorization: { doing: "waiting for the login", noun: "the authorization" },
  version: { doing: "negotiating the revision", noun: "negotiating the revision" },
};

/** Returns the steps of a connection, in order. */
export function stepsOf({ transport, address }: Pick<Session, "transport" | "address">): Step[] {
  if (transport === "program") {
    return ["start", "version"];
  }
  const secure: Step[] = address.startsWith("https:") ? ["tls"] : [];
  return ["resolve", "connect", ...secure, "http", "authorization", "version"];
}

/** Returns the name of a step, for a list of steps. */
export function stepName(step: Step): string {
  return STEPS[step].noun;
}

/** Returns the state of a session in a few words. */
export function stateOf({ connection }: Pick<Session, "connection">): { tone: Tone; text: string } {
  switch (connection.state) {
    case "connecting":
      return { tone: "busy", text: `${STEPS[connection.step].doing}…` };
    case "ready":
      return { tone: "ok", text: "ready" };
    case "failed":
      return { tone: "error", text: `failed: ${STEPS[connection.step].noun}` };
    case "ended":
      return {
        tone: "error",
        text: connection.exitCode === null ? "ended" : `ended with code ${connection.exitCode}`,
      };
    case "closed":
      return { tone: "none", text: "closed" };
  }
}
