import { UsageError } from '../errors.ts';
import { nameIn } from '../files/reading.ts';
import { arrayItems, type JsonText, JsonView, kindOf, objectMembers, stringOf } from '../json/text.ts';
import { isJson } from '../json/valid.ts';

export type Template = ReturnType<typeof toTemplate>;

type Piece = { readonly text: string } | { readonly path: string };

/** The pieces between two commas. */
type Part = readonly (Piece | { readonly inside: readonly Part[] })[];

/**
 * Makes a text from a record: `{name}, {links.website}`. `{{` and `}}` mean braces. An empty value is left out with its comma or its parentheses.
 * Throws UsageError.
 */
export function toTemplate(source: string, name: string) {
  const paths: string[] = [];
  const pieces = source.split(/(\{\{|\}\}|\{[^{}]*\})/).map((part): Piece => {
    if (part === '{{' || part === '}}') return { text: part[0] as string };
    const path = /^\{(.*)\}$/.exec(part)?.[1]?.trim();
    if (path === undefined && /[{}]/.test(part))
      throw new UsageError(`${name} has an unmatched brace ({{ and }} stand for a brace in the text)`);
    if (path === '')
      throw new UsageError(`${name} has empty braces: put the name of a column or field between them`);
    if (path !== undefined) paths.push(path);
    return path === undefined ? { text: part } : { path };
  });
  if (paths.length === 0)
    throw new UsageError(`${name} uses no column or field`, 'For example: "{name}, {links.website}".');
  const unfound = new Set(paths);
  const parts = toParts(pieces);
  return {
    /** The members of a record that the template uses, by dot path. */
    paths,
    /** The members that no record so far had. */
    unfound: () => [...unfound],
    /** The text for a record; empty where it has none of the members. */
    fill(record: JsonText): string {
      const view = new JsonView(record);
      let found = false;
      const text = fillParts(parts, (path) => {
        const value = textAt(view, path);
        if (value !== '') {
          found = true;
          unfound.delete(path);
        }
        return value;
      });
      return found ? (text ?? '') : '';
    },
  };
}

/** Pure: the parts between commas, and those inside parentheses. An unmatched parenthesis is text. */
function toParts(pieces: readonly Piece[]): readonly Part[] {
  const tokens = pieces.flatMap((piece): readonly Piece[] =>
    'path' in piece ? [piece] : piece.text.split(/([,()])/).map((text) => ({ text })),
  );
  const signs = tokens.map((token) => ('text' in token ? token.text : ''));
  const open: number[] = [];
  const paired = new Set<number>();
  for (const [at, sign] of signs.entries()) {
    if (sign === '(') open.push(at);
    const before = sign === ')' ? open.pop() : undefined;
    if (before !== undefined) paired.add(before).add(at);
  }
  let at = 0;
  function read(): readonly Part[] {
    const parts: Part[number][][] = [[]];
    for (; at < tokens.length; at++) {
      const isPaired = paired.has(at);
      if (isPaired && signs[at] === ')') break;
      if (isPaired) {
        at++;
        parts.at(-1)?.push({ inside: read() });
      } else if (signs[at] === ',') parts.push([]);
      else parts.at(-1)?.push(tokens[at] as Piece);
    }
    return parts;
  }
  return read();
}

type Read = (path: string) => string;

/** The parts that are not empty, with commas between them; undefined if all values are empty. */
function fillParts(parts: readonly Part[], read: Read): string | undefined {
  const filled = parts.map((part) => fillPart(part, read)).filter((text) => text !== undefined);
  if (filled.length === 0) return undefined;
  // Also removes the space beside a removed comma.
  return filled.length < parts.length ? filled.join(',').trim() : filled.join(',');
}

function fillPart(part: Part, read: Read): string | undefined {
  let text = '';
  let isEmpty = false;
  let isAfterEmpty = false;
  for (const piece of part) {
    if ('text' in piece) {
      // An empty value is left out with one of the spaces beside it.
      text += isAfterEmpty && /(?:^|\s)$/.test(text) ? piece.text.replace(/^\s/, '') : piece.text;
      isAfterEmpty &&= piece.text === '';
      continue;
    }
    const inside = 'inside' in piece ? fillParts(piece.inside, read) : undefined;
    const value = 'path' in piece ? read(piece.path) : inside === undefined ? '' : `(${inside})`;
    isAfterEmpty = value === '';
    isEmpty ||= isAfterEmpty;
    text += value;
  }
  if (isEmpty && text.trim() === '') return undefined;
  return isAfterEmpty ? text.trimEnd() : text;
}

/** Pure: whether a record has this member, even with the value null. */
export function hasPath(view: JsonView, path: string): boolean {
  return foundIn(view, path) !== undefined;
}

/** In a cell of CSV, objects and arrays are the text of their JSON. */
function foundIn(view: JsonView, path: string): JsonText | undefined {
  const whole = memberOf(view, path) ?? view.at(path);
  if (whole !== undefined) return whole;
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const json = containerIn(stringOf(memberOf(view, path.slice(0, dot))));
    const found = json && new JsonView(json).at(path.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Pure: a member of a record as text. A list of one text is that text. */
export function textAt(view: JsonView, path: string): string {
  const value = foundIn(view, path);
  if (value === undefined || kindOf(value) === 'null') return '';
  const text = (stringOf(value) ?? value).trim();
  return oneTextIn(text) ?? text;
}

/** Pure: the object or array of a record at this path. */
export function containerAt(view: JsonView, path: string): JsonText | undefined {
  const value = foundIn(view, path);
  return containerIn(stringOf(value) ?? value);
}

function oneTextIn(text: string): string | undefined {
  if (!/^\[\s*"/.test(text) || !isJson(text)) return undefined;
  const [first, second] = arrayItems(text);
  return second === undefined ? stringOf(first)?.trim() : undefined;
}

const maxDepth = 4;

/** Pure: the paths of all texts and numbers below `path`. Of a list, only the first item is used: `a.0.b`. */
export function pathsIn(view: JsonView, path: string, depth = maxDepth): readonly string[] {
  const value = containerIn(textAt(view, path));
  if (value === undefined || depth === 0) return [path];
  const inner =
    kindOf(value) === 'array'
      ? arrayItems(value)
          .slice(0, 1)
          .map((_, at) => String(at))
      : [...objectMembers(value).keys()];
  return inner.length === 0 ? [path] : inner.flatMap((name) => pathsIn(view, `${path}.${name}`, depth - 1));
}

/** Pure: the possible names of the outer member of a path: each part of it that ends before a dot. */
export function headsOf(path: string): string[] {
  const parts = path.split('.');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('.'));
}

/** Pure: the member with this name; case is ignored if no name is equal. */
export function memberIn(record: JsonText, name: string): JsonText | undefined {
  return memberOf(new JsonView(record), name);
}

function memberOf(view: JsonView, name: string): JsonText | undefined {
  const value = view.member(name);
  if (value !== undefined) return value;
  const meant = nameIn(view.names(), name);
  return meant === undefined ? undefined : view.member(meant);
}

/** Pure: the text, if it is the JSON of an object or an array. */
export function containerIn(text: string | undefined): JsonText | undefined {
  return text !== undefined && /^\s*[{[]/.test(text) && isJson(text) ? text : undefined;
}
