/*
 * Texts that are no list, although they have lines: each line would be paid for. Only what is surely something else is named, since a list may
 * have any line.
 */

const tag = /^<([a-z][\w:.-]*)(?:\s[^<>]*)?>/i;
const ofPages =
  /^(?:html|head|body|table|thead|tbody|tr|td|meta|title|script|style|div|span|p|ul|ol|li|h[1-6]|a|b)$/i;

/** Pure: what a text is, if it begins as something that is no list. */
export function seemsToBe(begin: string): string | undefined {
  const text = begin.trimStart();
  if (text.startsWith('{\\rtf')) return 'a document (RTF)';
  if (/^BEGIN:VCARD\b/i.test(text)) return 'contacts (vCard)';
  if (/^[^\r\n]*\r?\n *─{3,}[─ ]*\r?\n/.test(text)) return 'a table for the screen';
  if (/^BEGIN:VCALENDAR\b/i.test(text)) return 'a calendar (iCalendar)';
  if (/^%YAML |^---[ \t]*[\r\n]+\s*(?:- )?[\w"' -]+:/.test(text)) return 'YAML';
  if (!text.startsWith('<')) return isYaml(text) ? 'YAML' : isMarkdown(text) ? 'Markdown' : undefined;
  if (/^<!doctype html/i.test(text)) return 'an HTML page';
  const first = text.replace(/^(?:<[?!][^>]*>\s*)+/, '');
  const name = tag.exec(first)?.[1];
  // XML has names of its own, such as <a> and <title>; comments may stand above a page.
  const isXml = /^<\?xml\b/i.test(text) && !/^html$/i.test(name ?? '');
  if (!isXml && name !== undefined && ofPages.test(name)) return 'an HTML page';
  if (first !== text) return 'XML';
  return name !== undefined && first.includes(`</${name}>`) ? 'XML' : undefined;
}

/** A list of mappings, or a mapping of lists. */
function isYaml(text: string): boolean {
  return /^(?:#.*[\r\n]+)*(?:- [\w-]+:(?: .*)?[\r\n]+ +[\w-]+:(?:[ \r\n]|$)|[\w-]+:[ \t]*[\r\n]+[ \t]*- )/.test(
    text,
  );
}

/** A table below other text, or a heading with something else that only Markdown has. */
function isMarkdown(text: string): boolean {
  if (/^[^|\r\n]*\|.*[\r\n]+[ \t]*(?:\|[ \t]*)?:?-{3,}:?[ \t]*\|[ \t:|-]*$/m.test(text)) return true;
  if (!/^#{1,6} \S/.test(text)) return false;
  const marks = [/^#{1,6} \S/gm, /^[-*] \S/gm, /\]\(https?:/g, /\*\*\S/g, /^```/gm];
  return marks.flatMap((mark) => text.match(mark) ?? []).length > 2;
}

/** Pure: which table of another program a text is. */
export function otherTable(
  begin: string,
  extension: string,
  isName: (cell: string) => boolean,
): string | undefined {
  const text = begin.trimStart();
  if (/^ID;P[^\r\n]*[\r\n]/.test(text) && /[\r\n]C;(?:[XY]\d+;)+K/.test(text)) return 'a SYLK file (.slk)';
  if (/^TABLE\r?\n0,1\r?\n"[^\r\n]*"\r?\nVECTORS\r?\n/.test(text)) return 'a DIF file (.dif)';
  const [first = ''] = text.split(/[\r\n]/, 1);
  const names = first.split(/ {2,}/).filter(isName);
  const isFixed = names.length > 1 || (extension === '.prn' && !/[,;|\t]/.test(first));
  return isFixed && text !== '' ? 'text in columns of a fixed width (.prn)' : undefined;
}

const sentenceEnd = /[\p{Ll}\p{N})][.!?]["”’)]?\s+["“‘(]?\p{Lu}/gu;

/** Pure: whether a text is one of sentences that go on over its lines, or paragraphs with empty lines between them. */
export function isProse(text: string): boolean {
  const lines = text.split(/\r{0,2}\n|\r/).map((line) => line.trim());
  const filled = lines.filter((line) => line !== '');
  const sentences = filled.map((line) => 1 + (line.match(sentenceEnd)?.length ?? 0));
  const goesOn = (line: string, at: number): boolean =>
    /^\p{Ll}\S* \S+ \S/u.test(line) && /^\S+(?: \S+){4,}[^.!?:;]$/u.test(lines[at - 1] ?? '');
  const wrapped = lines.filter(goesOn).length;
  if (wrapped > 2 && wrapped * 3 > filled.length && sentences.some((count) => count > 1)) return true;
  const paragraphs = lines.filter((line, at) => line !== '' && lines[at - 1] === '' && lines[at + 1] === '');
  const long = sentences.filter((count) => count > 2).length;
  return long > 2 && long * 2 > filled.length && paragraphs.length * 2 > filled.length;
}
