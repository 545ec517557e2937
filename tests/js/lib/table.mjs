// Plain text tables.

/** Renders rows of cells under a head, columns padded to their widest cell; numbers are set to the right. */
export function table(head, rows) {
  const cells = [head, ...rows].map((row) => row.map((cell) => String(cell ?? "")));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const numeric = head.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === "number"));
  const fit = (cell, column) => (numeric[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column]));
  const line = (row) => row.map(fit).join("  ").trimEnd();
  return [line(cells[0]), widths.map((width) => "-".repeat(width)).join("  "), ...cells.slice(1).map(line)].join("\n");
}
