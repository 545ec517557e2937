// What the person behind a client says when a server asks. The same for every client.

/** The server's questions, kept so that a step can see what was asked. */
export class Answers {
  /** The messages of the elicitations, in order; of those that ask to open an address, the address. */
  elicitations = [];
  /** The texts that sampling was asked with. */
  prompts = [];
  /** How often the roots were asked for. */
  rootsAsked = 0;

  static REPLY = "the canned reply";
  static NAME = "ada";
  static ROOTS = [
    { uri: "file:///interop/alpha", name: "alpha" },
    { uri: "file:///interop/beta", name: "beta" },
  ];

  /** Accepts an elicitation, filling in what the schema requires with a name or an address. */
  elicit({ params }) {
    this.elicitations.push(params.url ?? params.message);
    if (params.url !== undefined) return { action: "accept" };
    const { properties = {}, required = [] } = params.requestedSchema;
    const fields = Object.entries(properties).filter(([name]) => required.includes(name));
    const fill = ([name, field]) => [name, /mail/.test(field.format ?? name) ? `${Answers.NAME}@example.com` : Answers.NAME];
    return { action: "accept", content: Object.fromEntries(fields.map(fill)) };
  }

  /** Answers a sampling request with a fixed text. */
  sample({ params }) {
    this.prompts.push(params.messages.flatMap(({ content }) => content).map(({ text }) => text).join(" "));
    return { role: "assistant", model: "canned", stopReason: "endTurn", content: { type: "text", text: Answers.REPLY } };
  }

  /** Names two roots. */
  roots() {
    this.rootsAsked += 1;
    return { roots: Answers.ROOTS };
  }
}

/** What the clients declare that they can be asked. The SDKs fill in a form's defaults where they declare so. */
export const CAPABILITIES = {
  elicitation: { form: { applyDefaults: true }, url: {} },
  sampling: {},
  roots: { listChanged: true },
};

/** Who the clients say they are. */
export const CLIENT = { name: "interop", version: "1.0.0" };
