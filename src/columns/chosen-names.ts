/** A column that the user chose: its header, and which column or dot path it shows. */
interface ChosenColumn {
  readonly header: string;
  readonly name: string;
}

const quoted = '"(?:[^"]|"")*"';
const isQuoted = new RegExp(`^${quoted}$`);
const nameInQuotes = new RegExp(`(?<=(?:^|[,=])\\s*)${quoted}(?=\\s*(?:[,=]|$))`, 'g');
const pair = new RegExp(`^(${quoted}|(?!")[^=]*?)\\s*=\\s*(.*)$`, 's');

/** Pure: the columns in a comma-separated text. As in CSV, a quoted name may contain commas. */
export function chosenIn(text: string): string[] {
  const parts = text.replace(nameInQuotes, (name) => name.replaceAll(',', '\0')).split(',');
  return parts.map((part) => part.replaceAll('\0', ',').trim());
}

/** Pure: whether a name has an opening quote and no closing one. */
export function hasOpenQuote(chosen: string): boolean {
  return /(?:^|=)\s*"/.test(chosen.replace(nameInQuotes, ''));
}

/** Pure: the name, quoted if `chosenIn` needs it. */
export function toColumnWord(name: string): string {
  return /[,="]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

/** Pure: parses `header=name`; a name alone is also the header. The name of a known column may contain `=`. */
export function toChosen(given: string, known: ReadonlySet<string> = new Set()): ChosenColumn {
  if (known.has(given)) return { header: given, name: given };
  const [, header = given, name = given] = pair.exec(given) ?? [];
  return { header: unquoted(header), name: unquoted(name) };
}

function unquoted(name: string): string {
  return isQuoted.test(name) ? name.slice(1, -1).replaceAll('""', '"') : name;
}
