// Bytes as a dump of hexadecimal numbers.

const WIDTH = 16;

/** Returns a dump: an offset, sixteen bytes, and the characters of ASCII that they are. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += WIDTH) {
    const line = [...bytes.subarray(at, at + WIDTH)];
    const numbers = line.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = line.map((byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".",
    );
    lines.push(
      `${at.toString(16).padStart(6, "0")}  ${numbers.padEnd(WIDTH * 3 - 1)}  ${text.join("")}`,
    );
  }
  return lines.join("\n");
}
