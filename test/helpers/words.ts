/** The words of a command: an array, or one line as typed. Words with spaces are in quotes, as in JSON. */
export type Words = string | readonly string[];

export function toWords(line: Words): readonly string[] {
  if (typeof line !== 'string') return line;
  const quoted = /"(?:[^"\\]|\\.)*"/g;
  const words = line.match(/(?:[^\s"]|"(?:[^"\\]|\\.)*")+/g) ?? [];
  return words.map((word) => word.replace(quoted, (text) => JSON.parse(text)));
}
