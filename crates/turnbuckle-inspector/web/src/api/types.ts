// Generated from crates/turnbuckle-inspector/src/api by its tests: do not edit.

/**
 * An answer of the person to a question.
 */
export type Answer = {
/**
 * The action of the person.
 */
action: AnswerAction,
/**
 * The content of an accepted question: JSON text. For a form its values, otherwise the result.
 */
content: string | null,
/**
 * True if content is sent that does not fit the form.
 */
anyway: boolean, };

/**
 * The action of the person who answers a question.
 */
export type AnswerAction = "accept" | "decline" | "cancel";

/**
 * The outcome of answering a question.
 */
export type AnswerOutcome = { "outcome": "sent" } | { "outcome": "refused",
/**
 * The faults of the content.
 */
faults: Array<Fault>, } | { "outcome": "gone" };

/**
 * The questions of a server that are answered without a person. By default there are none.
 */
export type AutomaticAnswers = {
/**
 * The answer to forms.
 */
forms: AutomaticForms | null,
/**
 * The answer to URLs.
 */
urls: AutomaticUrls | null,
/**
 * The answer to `sampling/createMessage`: JSON text of a result.
 */
sampling: string | null,
/**
 * The answer to `roots/list`: JSON text of a result.
 */
roots: string | null, };

/**
 * The answer to forms that is given without a person.
 */
export type AutomaticForms = "defaults" | "decline";

/**
 * The answer to URLs that is given without a person.
 */
export type AutomaticUrls = "decline";

/**
 * A block of content.
 */
export type Block = {
/**
 * The path of the block in the message.
 */
path: string,
/**
 * The role of the message of a prompt.
 */
role: string | null,
/**
 * The annotations: JSON text, cut to 2 kB.
 */
annotations: string | null,
/**
 * The content by its kind.
 */
content: BlockKind, };

/**
 * The content of a block.
 */
export type BlockKind = { "kind": "text",
/**
 * A piece of the text, at most 64 kB.
 */
text: string,
/**
 * The offset of the next piece; nothing if this one is the last.
 */
next: number | null,
/**
 * The media type, for the text of a resource.
 */
mime: string | null,
/**
 * The URI of the resource that has the text.
 */
uri: string | null, } | { "kind": "blob",
/**
 * The path of the Base64 text in the message.
 */
blob: string,
/**
 * The media type.
 */
mime: string | null,
/**
 * The bytes, about.
 */
size: number,
/**
 * The URI of the resource that has the bytes.
 */
uri: string | null, } | { "kind": "link",
/**
 * The URI of the resource.
 */
uri: string,
/**
 * The name of the resource.
 */
name: string | null,
/**
 * The title of the resource.
 */
title: string | null,
/**
 * The description, cut to 2,000 characters.
 */
description: string | null,
/**
 * The media type.
 */
mime: string | null, } | { "kind": "other" };

/**
 * Blocks of content of a result.
 */
export type Blocks = {
/**
 * The number of blocks.
 */
total: number,
/**
 * The index of the first block.
 */
from: number,
/**
 * The blocks of this part.
 */
blocks: Array<Block>,
/**
 * True if the tool failed (`isError`).
 */
isError: boolean,
/**
 * The path of the structured content of a tool's result.
 */
structured: string | null, };

/**
 * A run of all checks against the server of a session.
 */
export type CheckRun = {
/**
 * The state of the run.
 */
state: CheckRunState,
/**
 * The number of checks that have ended.
 */
done: number,
/**
 * The number of checks to run.
 */
total: number,
/**
 * The number of checks that passed.
 */
passed: number,
/**
 * The number of checks that do not apply to the server.
 */
skipped: number,
/**
 * The findings, the worst first.
 */
findings: Array<Finding>,
/**
 * The number of findings that are left out of the list.
 */
leftOut: number,
/**
 * The reason why the run failed.
 */
error: string | null, };

/**
 * The phase of a run of checks.
 */
export type CheckRunState = "idle" | "running" | "done" | "failed";

/**
 * A value to choose.
 */
export type Choice = {
/**
 * The value: JSON text.
 */
value: string,
/**
 * The title that is shown.
 */
title: string, };

/**
 * The values that an argument may have.
 */
export type Completion = {
/**
 * The values that the server suggests.
 */
values: Array<string>,
/**
 * The number of all values, if the server says it: JSON text.
 */
total: string | null,
/**
 * True if the server has more values.
 */
hasMore: boolean, };

/**
 * A question for the values that an argument may have.
 */
export type CompletionRequest = {
/**
 * The kind of item.
 */
target: CompletionTarget,
/**
 * The name of the prompt, or the URI of the template.
 */
name: string,
/**
 * The name of the argument.
 */
argument: string,
/**
 * The beginning of the value.
 */
value: string,
/**
 * The values of the other arguments.
 */
context: { [key in string]: string }, };

/**
 * The kind of item whose arguments are completed.
 */
export type CompletionTarget = "prompt" | "template";

/**
 * The phase of a connection.
 */
export type ConnectionState = { "state": "connecting",
/**
 * The step that goes on.
 */
step: Step,
/**
 * The microseconds from the start of the Inspector to the first step.
 */
sinceUs: number, } | { "state": "ready" } | { "state": "failed",
/**
 * The step that failed.
 */
step: Step,
/**
 * The error, then the causes of it.
 */
errors: Array<string>,
/**
 * The last lines that the program wrote to stderr.
 */
stderr: Array<string>, } | { "state": "ended",
/**
 * The reason, in a sentence.
 */
reason: string,
/**
 * The exit status of the program.
 */
exitCode: number | null,
/**
 * The last lines that the program wrote to stderr.
 */
stderr: Array<string>, } | { "state": "closed" };

/**
 * A consent to a server of a configuration file that was found.
 */
export type Consent = {
/**
 * The file, and what using the server does, in a sentence.
 */
sentence: string,
/**
 * The text that names what the user agrees to. It changes with the file and the server.
 */
digest: string, };

/**
 * The form in which an exchange is copied.
 */
export type CopyFormat = "command" | "curl" | "json";

/**
 * The form of a date.
 */
export type DateKind = "date" | "time" | "dateTime";

/**
 * An entry of the timeline.
 */
export type Entry = {
/**
 * The number: the first entry is 1.
 */
n: number,
/**
 * The microseconds from the start of the Inspector to the entry.
 */
atUs: number,
/**
 * The id of the session.
 */
session: string,
/**
 * The origin and direction.
 */
kind: EntryKind,
/**
 * The method of a message, or of the request that a response answers; the method and the path of an
 * HTTP exchange.
 */
method: string | null,
/**
 * The JSON-RPC id of a request or response: JSON text.
 */
id: string | null,
/**
 * The status. Of a request, that of its response.
 */
status: EntryStatus,
/**
 * The HTTP status of the exchange.
 */
httpStatus: number | null,
/**
 * The number of the request that the entry is about.
 */
about: number | null,
/**
 * The number of the response to this request.
 */
answer: number | null,
/**
 * The microseconds from the request to its response, on both entries.
 */
durationUs: number | null,
/**
 * The bytes of the message or line.
 */
size: number,
/**
 * The beginning of the text of an entry that is no message, or the fault of a response.
 */
summary: string | null, };

/**
 * An entry in full.
 */
export type EntryDetail = {
/**
 * The entry as in the list.
 */
entry: Entry,
/**
 * The beginning of its text, at most 64 kB.
 */
text: string,
/**
 * True if the text is longer.
 */
isCut: boolean,
/**
 * True if values in the text are hidden because they are secrets.
 */
isRedacted: boolean,
/**
 * The facts of an HTTP exchange.
 */
http: HttpFacts | null,
/**
 * The numbers of the entries about the same request, in order: questions, progress, logs, the
 * response.
 */
related: number[],
/**
 * The number of the newest request that repeats this one with answers to the server's questions, or
 * asks for the task that the call became. Its response is the result.
 */
newest: number | null,
/**
 * The milliseconds without a sign of the server after which a request is given up.
 */
timeoutMs: number | null, };

/**
 * The origin and direction of an entry.
 */
export type EntryKind = "sent" | "received" | "http" | "stderr" | "log" | "life" | "noise";

/**
 * The outcome of an entry.
 */
export type EntryStatus = "none" | "open" | "ok" | "error" | "cancelled" | "timedOut";

/**
 * The beginning of a text.
 */
export type Excerpt = {
/**
 * The beginning, at most 2 kB. Bytes that are not UTF-8 are replaced by U+FFFD.
 */
text: string,
/**
 * The bytes of the whole text, if it is longer.
 */
cut: number | null, };

/**
 * A fault of a value that does not fit its schema.
 */
export type Fault = {
/**
 * The place in the value: a JSON pointer, empty for the whole value.
 */
path: string,
/**
 * The fault, in a sentence.
 */
sentence: string, };

/**
 * A field of a form.
 */
export type Field = {
/**
 * The name of the member; empty for the items of a list and the variants of a union.
 */
name: string,
/**
 * The title, if it has one beside its name.
 */
title: string | null,
/**
 * The description, cut to 2,000 characters.
 */
help: string | null,
/**
 * True if the value must be there.
 */
required: boolean,
/**
 * The value if nothing is sent: JSON text.
 */
default: string | null,
/**
 * The values that the schema gives as examples: JSON texts.
 */
examples: Array<string>,
/**
 * True if the value may be null.
 */
nullable: boolean,
/**
 * The HTTP header that carries the value too (`x-mcp-header`).
 */
header: string | null,
/**
 * The kind of value, with its limits.
 */
kind: FieldKind, };

/**
 * The kind of value of a field.
 */
export type FieldKind = { "kind": "text",
/**
 * The rules for the string.
 */
rules: TextRules, } | { "kind": "number",
/**
 * The least value: JSON text.
 */
minimum: string | null,
/**
 * The greatest value: JSON text.
 */
maximum: string | null,
/**
 * The number that the value is a multiple of: JSON text.
 */
step: string | null, } | { "kind": "integer",
/**
 * The least value: JSON text.
 */
minimum: string | null,
/**
 * The greatest value: JSON text.
 */
maximum: string | null,
/**
 * The number that the value is a multiple of: JSON text.
 */
step: string | null, } | { "kind": "boolean" } | { "kind": "choice",
/**
 * The values.
 */
choices: Array<Choice>, } | { "kind": "date",
/**
 * The form of the date.
 */
date: DateKind, } | { "kind": "file",
/**
 * The media type that the schema asks for.
 */
mediaType: string | null, } | { "kind": "list",
/**
 * The field of each item.
 */
item: Field,
/**
 * The least number of items.
 */
minimum: number | null,
/**
 * The greatest number of items.
 */
maximum: number | null,
/**
 * True if no item may be there twice.
 */
unique: boolean, } | { "kind": "object",
/**
 * The fields of the members.
 */
fields: Array<Field>,
/**
 * True if the object may have members that no field names.
 */
hasOtherMembers: boolean, } | { "kind": "union",
/**
 * The kinds.
 */
variants: Array<Variant>, } | { "kind": "raw" };

/**
 * A part of a filter that is not understood.
 */
export type FilterFault = {
/**
 * The part.
 */
word: string,
/**
 * The fault, in a sentence.
 */
sentence: string, };

/**
 * A breach of the specification that a check found.
 */
export type Finding = {
/**
 * The id of the check.
 */
check: string,
/**
 * The topic of the check.
 */
topic: string,
/**
 * The severity of the breach.
 */
severity: Severity,
/**
 * The fault, in a sentence.
 */
message: string,
/**
 * The parts of the exchange that show the fault.
 */
evidence: Array<string>,
/**
 * The advice for the author of the server.
 */
advice: string | null,
/**
 * The sentence of the specification.
 */
requirement: string | null,
/**
 * The address of the page of the specification.
 */
link: string | null,
/**
 * The revision in which the fault was found.
 */
revision: string | null, };

/**
 * A form for one JSON value, mostly an object of arguments.
 */
export type Form = {
/**
 * The fields, in the order of the schema.
 */
fields: Array<Field>,
/**
 * True if the value may have members that the form does not name.
 */
hasOtherMembers: boolean,
/**
 * The parts of the schema that the form cannot show, in sentences. The raw editor takes them.
 */
leftOut: Array<string>,
/**
 * The value that an empty form stands for: JSON text with the defaults of required fields.
 */
initial: string, };

/**
 * An HTTP header.
 */
export type Header = {
/**
 * The name in lower case.
 */
name: string,
/**
 * The value, with `[redacted]` in place of secrets.
 */
value: string, };

/**
 * A hint of the server about an item.
 */
export type Hint = "readOnly" | "destructive" | "saysDestructive" | "idempotent" | "openWorld" | "taskOptional" | "taskRequired" | "working" | "inputRequired" | "completed" | "failed" | "cancelled";

/**
 * The facts of an HTTP exchange.
 */
export type HttpFacts = {
/**
 * The HTTP method.
 */
method: string,
/**
 * The path and the query, without secrets.
 */
path: string,
/**
 * The status of the response.
 */
status: number | null,
/**
 * The headers of the request, without secrets.
 */
request: Array<Header>,
/**
 * The headers of the response, without secrets.
 */
response: Array<Header>,
/**
 * The reason why there is no response.
 */
error: string | null, };

/**
 * Everything small at once.
 */
export type InspectorState = {
/**
 * The server of the command line and those of the configuration.
 */
servers: Array<ServerEntry>,
/**
 * The sessions, in the order in which they were opened.
 */
sessions: Array<Session>,
/**
 * The questions: the open ones, then the last answered ones.
 */
inbox: Array<Question>,
/**
 * The page's own state: the JSON text that the page stored last.
 */
place: string | null,
/**
 * The version of each topic.
 */
versions: { [topic: string]: number }, };

/**
 * The definition of an item, with the form to use it.
 */
export type ItemDefinition = {
/**
 * The row of the item.
 */
row: ItemRow,
/**
 * The whole description.
 */
description: string | null,
/**
 * The method of the request that uses the item, such as `tools/call`.
 */
method: string,
/**
 * The form of the arguments.
 */
form: Form,
/**
 * The definition as the server sent it.
 */
raw: RawRange,
/**
 * True if the item can be subscribed to.
 */
canSubscribe: boolean,
/**
 * True if the server completes arguments (`completion/complete`).
 */
canComplete: boolean, };

/**
 * The kind of item of a list.
 */
export type ItemKind = "tools" | "resources" | "templates" | "prompts" | "skills" | "tasks";

/**
 * An item in a list.
 */
export type ItemRow = {
/**
 * The key of the item in its list, which stays over a reload of the list.
 */
key: string,
/**
 * The name, or the URI of a resource or a template.
 */
name: string,
/**
 * The title, or the name of a resource or a template.
 */
title: string | null,
/**
 * The description, cut to 300 characters.
 */
description: string | null,
/**
 * The hints of the server.
 */
hints: Array<Hint>,
/**
 * The reason why clients cannot use the item, in a sentence.
 */
fault: string | null,
/**
 * The bytes of the definition.
 */
size: number, };

/**
 * A part of a list, filtered.
 */
export type ItemsWindow = {
/**
 * The number of items.
 */
total: number,
/**
 * The number of items that the filter leaves.
 */
matching: number,
/**
 * The index of the first row among the matching ones.
 */
from: number,
/**
 * The rows of this part.
 */
rows: Array<ItemRow>,
/**
 * True if the server is still asked for pages.
 */
isLoading: boolean,
/**
 * The reason why the list is not complete, in a sentence.
 */
error: string | null, };

/**
 * The place and reason why a text is not JSON.
 */
export type JsonFault = {
/**
 * The byte at which the text stops to be JSON, or at which a limit was reached.
 */
at: number,
/**
 * The fault, in a sentence.
 */
sentence: string, };

/**
 * A list of a server, in short.
 */
export type ListSummary = {
/**
 * The kind of items.
 */
kind: ItemKind,
/**
 * The number of items so far.
 */
total: number,
/**
 * The bytes of the definitions so far.
 */
size: number,
/**
 * True if the server is still asked for pages.
 */
isLoading: boolean,
/**
 * True if the list could not be read in whole.
 */
hasError: boolean, };

/**
 * A place at which a text was found.
 */
export type Match = {
/**
 * The path of the value, or of the member whose name has the text.
 */
path: string,
/**
 * The byte at which the text begins.
 */
at: number,
/**
 * True if the text is in the name of the member.
 */
isKey: boolean, };

/**
 * Places at which a text was found.
 */
export type Matches = {
/**
 * The places, in order.
 */
matches: Array<Match>,
/**
 * The byte from which to search for more; nothing if there are none.
 */
next: number | null, };

/**
 * The server of a session to open. A command line can not be named here.
 */
export type OpenSource = { "source": "url",
/**
 * The URL of the server.
 */
url: string, } | { "source": "named",
/**
 * The name in the configuration.
 */
name: string, } | { "source": "given" };

/**
 * A question of a server.
 */
export type Question = {
/**
 * The id of the question.
 */
id: string,
/**
 * The id of the session.
 */
session: string,
/**
 * The microseconds from the start of the Inspector to the question.
 */
atUs: number,
/**
 * The number of the request that the question is about, if it is known.
 */
about: number | null,
/**
 * The state of the question.
 */
state: QuestionState,
/**
 * True if it was answered without a person.
 */
isAutomatic: boolean,
/**
 * The subject of the question.
 */
kind: QuestionKind, };

/**
 * The subject of a question.
 */
export type QuestionKind = { "kind": "form",
/**
 * The message of the server.
 */
message: string,
/**
 * The form to fill in.
 */
form: Form, } | { "kind": "url",
/**
 * The message of the server.
 */
message: string,
/**
 * The address of the page, as the server sent it.
 */
url: string,
/**
 * The host that the address leads to, in ASCII.
 */
host: string,
/**
 * Warnings about the address, in sentences.
 */
warnings: Array<string>, } | { "kind": "sampling",
/**
 * The parameters as the server sent them: JSON text, cut to 64 kB. The timeline has it whole.
 */
params: string,
/**
 * The answer that is suggested: JSON text of a result.
 */
suggested: string, } | { "kind": "roots",
/**
 * The answer that is suggested: JSON text of a result.
 */
suggested: string, };

/**
 * The phase of a question.
 */
export type QuestionState = "open" | "accepted" | "declined" | "cancelled" | "withdrawn";

/**
 * The place of a JSON value in an entry of the timeline.
 */
export type RawRange = {
/**
 * The number of the entry.
 */
n: number,
/**
 * The first byte of the value.
 */
start: number,
/**
 * The byte after the value.
 */
end: number, };

/**
 * A request to a server.
 */
export type RequestToSend = {
/**
 * The method, such as `tools/call`.
 */
method: string,
/**
 * The parameters: JSON text, which is sent byte for byte.
 */
params: string,
/**
 * The milliseconds without a sign of the server after which the request is given up.
 */
timeoutMs?: number | null,
/**
 * True if arguments are sent that do not fit the schema of the tool.
 */
anyway: boolean, };

/**
 * The outcome of sending a request.
 */
export type SendOutcome = { "outcome": "sent",
/**
 * The number of its entry in the timeline.
 */
n: number, } | { "outcome": "refused",
/**
 * The faults of the parameters.
 */
faults: Array<Fault>,
/**
 * True if the request can be sent anyway.
 */
canSendAnyway: boolean, };

/**
 * A server that can be opened.
 */
export type ServerEntry = {
/**
 * The way to open it.
 */
source: OpenSource,
/**
 * The name in the configuration, or that of the URL's host.
 */
name: string,
/**
 * The URL or the command line, without secrets.
 */
address: string,
/**
 * The transport to the server.
 */
transport: TransportKind,
/**
 * The configuration that names the server, if one does.
 */
origin: string | null,
/**
 * The reason why the server cannot be opened, in a sentence.
 */
fault: string | null,
/**
 * The consent that the user has to give before the server can be opened.
 */
consent: Consent | null, };

/**
 * A server's description of itself, and the revision that is spoken.
 */
export type ServerFacts = {
/**
 * The name of the server.
 */
name: string | null,
/**
 * The title of the server.
 */
title: string | null,
/**
 * The version of the server.
 */
version: string | null,
/**
 * The revision that is spoken.
 */
revision: string,
/**
 * True if the revision is one of the legacy era, which has sessions.
 */
isLegacy: boolean,
/**
 * The revisions that the server names; none for a legacy server.
 */
supportedRevisions: Array<string>,
/**
 * The capabilities: JSON text.
 */
capabilities: string,
/**
 * The instructions for a model.
 */
instructions: string | null,
/**
 * True if the server can be asked for log messages.
 */
hasLogging: boolean,
/**
 * True if resources can be subscribed to.
 */
canSubscribe: boolean,
/**
 * True if the server completes arguments.
 */
canComplete: boolean, };

/**
 * A session with a server.
 */
export type Session = {
/**
 * The id: `s1`, `s2`, …
 */
id: string,
/**
 * The way in which it was opened.
 */
source: OpenSource,
/**
 * The name: that of the configuration, or of the server.
 */
name: string,
/**
 * The URL or the command line, without secrets.
 */
address: string,
/**
 * The transport to the server.
 */
transport: TransportKind,
/**
 * The process id of a program.
 */
pid: number | null,
/**
 * The state of the connection.
 */
connection: ConnectionState,
/**
 * The server's description of itself, also after the connection has ended.
 */
server: ServerFacts | null,
/**
 * The lists of the server.
 */
lists: Array<ListSummary>,
/**
 * The URIs of the resources that are subscribed to.
 */
subscriptions: Array<string>,
/**
 * The least severe level of log messages that the server is asked for.
 */
logLevel: string | null,
/**
 * The microseconds from the last request to its response.
 */
latencyUs: number | null,
/**
 * The number of times that the session was connected.
 */
connections: number,
/**
 * The URL at which the user has to log in, while a login waits for it.
 */
loginUrl: string | null,
/**
 * The questions that are answered without a person.
 */
automatic: AutomaticAnswers, };

/**
 * The severity of a finding.
 */
export type Severity = "error" | "warning" | "note";

/**
 * A step on the way to a connection.
 */
export type Step = "start" | "resolve" | "connect" | "tls" | "http" | "authorization" | "version";

/**
 * A piece of a long text.
 */
export type TextPiece = {
/**
 * The decoded text, about 64 kB at most.
 */
text: string,
/**
 * The offset of the next piece; nothing if this one is the last.
 */
next: number | null, };

/**
 * The rules for a string.
 */
export type TextRules = {
/**
 * The least number of Unicode characters.
 */
minCharacters: number | null,
/**
 * The greatest number of Unicode characters.
 */
maxCharacters: number | null,
/**
 * The regular expression of the schema.
 */
pattern: string | null,
/**
 * The format of the schema, such as `email` or `uri`.
 */
format: string | null,
/**
 * True if the value is not shown while it is typed.
 */
secret: boolean, };

/**
 * A part of the timeline, filtered.
 */
export type TimelineWindow = {
/**
 * The number of entries.
 */
total: number,
/**
 * The number of entries that the filter leaves.
 */
matching: number,
/**
 * The index of the first entry among the matching ones.
 */
from: number,
/**
 * The entries, the oldest first.
 */
entries: Array<Entry>,
/**
 * The number of old entries that were dropped, and are not counted in `total`.
 */
dropped: number,
/**
 * The faults of the filter. A part with a fault filters nothing.
 */
faults: Array<FilterFault>, };

/**
 * The transport to a server.
 */
export type TransportKind = "program" | "http" | "sse";

/**
 * The kind of a JSON value.
 */
export type ValueKind = "object" | "array" | "string" | "number" | "boolean" | "null";

/**
 * A line of a tree.
 */
export type ValueRow = {
/**
 * The path of the value: the index of the member or item at each level, as `3.0.12`. The whole value
 * has the empty path. An index is unique where a name is there twice.
 */
path: string,
/**
 * The number of values around this one.
 */
depth: number,
/**
 * The name of the member as it was sent, with its quotes and escapes.
 */
key: Excerpt | null,
/**
 * True if another member of the object has the same name.
 */
isDuplicate: boolean,
/**
 * The kind of value.
 */
kind: ValueKind,
/**
 * The value as it was sent; nothing for an object or array.
 */
text: Excerpt | null,
/**
 * The number of members or items.
 */
children: number,
/**
 * The bytes of the value.
 */
size: number,
/**
 * True if the members or items follow.
 */
isOpen: boolean, };

/**
 * Lines of a tree.
 */
export type ValueRows = {
/**
 * The number of lines of the tree as it is opened.
 */
total: number,
/**
 * The index of the first line.
 */
from: number,
/**
 * The lines.
 */
rows: Array<ValueRow>,
/**
 * The fault of a text that is not JSON. The lines show what comes before it.
 */
fault: JsonFault | null, };

/**
 * A kind of value of a union.
 */
export type Variant = {
/**
 * The title of the variant.
 */
title: string,
/**
 * The field for a value of this kind.
 */
field: Field, };
