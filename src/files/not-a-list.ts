/*
 * Recognises texts that have lines but are not lists: each line would be paid for. Only clear cases are named, since a list may have any line.
 */

const tag = /^<([a-z][\w:.-]*)(?:\s[^<>]*)?>/i;
const ofPages =
  /^(?:html|head|body|table|thead|tbody|tr|td|meta|title|script|style|div|span|p|ul|ol|li|h[1-6]|a|b)$/i;

/** Pure: the kind of a text that is clearly not a list; undefined if it may be one. */
export function nonListKind(begin: string): string | undefined {
  const text = begin.trimStart();
  if (text.startsWith('{\\rtf')) return 'a document (RTF)';
  if (/^BEGIN:VCARD\b/i.test(text)) return 'contacts (vCard)';
  if (/^[^\r\n]*\r?\n *─{3,}[─ ]*\r?\n/.test(text)) return 'a table made for a terminal';
  if (/^BEGIN:VCALENDAR\b/i.test(text)) return 'a calendar (iCalendar)';
  if (/^%YAML |^---[ \t]*[\r\n]+\s*(?:- )?[\w"' -]+:/.test(text)) return 'YAML';
  if (!text.startsWith('<')) return isYaml(text) ? 'YAML' : hasMarkdownTable(text) ? 'Markdown' : undefined;
  if (/^<!doctype html/i.test(text)) return 'an HTML page';
  const first = text.replace(/^(?:<[?!][^>]*>\s*)+/, '');
  const name = tag.exec(first)?.[1];
  // XML may use names such as <a> and <title>; a page may begin with comments.
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

/** A table below other text. */
function hasMarkdownTable(text: string): boolean {
  return /^[^|\r\n]*\|.*[\r\n]+[ \t]*(?:\|[ \t]*)?:?-{3,}:?[ \t]*\|[ \t:|-]*$/m.test(text);
}

/** Pure: the kind of a table that another program has written; undefined if it is none. */
export function foreignTableKind(
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
  return isFixed && text !== '' ? 'text in fixed-width columns (.prn)' : undefined;
}

/** Pure: the kind of a text without a table that is a page or prose; undefined if it may be a list. */
export function proseKind(text: string): string | undefined {
  return isPage(text) ? 'Markdown' : isProse(text) ? 'one text of sentences' : undefined;
}

/** A second-level heading, or a first-level one with other Markdown below it. A line with one # may also be a comment above a list. */
function isPage(text: string): boolean {
  if (/^#{2,6} \S/m.test(text)) return true;
  if (!/^\s*# \S/.test(text)) return false;
  const below = text.replace(/^(?:\s*# .*)+/, '');
  return /^(?:# \S|[-*] \S|```)|\]\(https?:|\*\*\S/m.test(below);
}

const sentenceEnd = /[\p{Ll}\p{N})][.!?]["”’)]?\s+["“‘(]?\p{Lu}/gu;

/** Words that begin a sentence of prose, in the four languages whose column names are known. */
const beginsSentence =
  /^(?:the|a|an|we|it|they|this|that|these|there|in|on|at|our|i|he|she|but|and|also|der|die|das|ein|eine|wir|es|sie|ich|im|am|le|la|les|un|une|nous|il|elle|ils|je|en|el|los|las|una|nosotros|yo)\s/i;

/** Whether a text has sentences that continue over line ends, or paragraphs with empty lines between them. */
function isProse(text: string): boolean {
  const lines = text.split(/\r{0,2}\n|\r/).map((line) => line.trim());
  const filled = lines.filter((line) => line !== '');
  const sentences = filled.map((line) => 1 + (line.match(sentenceEnd)?.length ?? 0));
  const hasSeveral = sentences.some((count) => count > 1);
  const areMost = (part: readonly unknown[], times: number): boolean =>
    part.length > 1 && part.length * times > filled.length;
  const goesOn = (line: string, at: number): boolean =>
    /^\p{Ll}\S* \S+ \S/u.test(line) && /^\S+(?: \S+){4,}[^.!?:;]$/u.test(lines[at - 1] ?? '');
  const wrapped = lines.filter(goesOn);
  const whole = filled.filter((line) => beginsSentence.test(line) && /^\S+(?: \S+){3,}[.!?]$/.test(line));
  if (hasSeveral && (areMost(wrapped, 3) || areMost(whole, 2))) return true;
  const paragraphs = lines.filter((line, at) => line !== '' && !lines[at - 1] && !lines[at + 1]);
  const long = sentences.filter((count) => count > 2);
  return areMost(long, 2) && areMost(paragraphs, 2);
}
