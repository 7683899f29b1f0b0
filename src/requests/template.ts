import { UsageError } from '../errors.ts';
import { type JsonText, JsonView, kindOf, stringOf } from '../json/text.ts';
import { isJson } from '../json/valid.ts';

export type Template = ReturnType<typeof toTemplate>;

/** Makes a text from a record: `{name}, {links.website}`. `{{` and `}}` mean braces. Throws UsageError. */
export function toTemplate(source: string, name: string) {
  const parts = source.split(/(\{\{|\}\}|\{[^{}]*\})/);
  const paths: string[] = [];
  const pieces = parts.map((part) => {
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
  return {
    /** The members of a record that the template uses, by dot path. */
    paths,
    /** The members that no record so far had. */
    unfound: () => [...unfound],
    /** The text for a record; empty where it has none of the members. */
    fill(record: JsonText): string {
      const view = new JsonView(record);
      let found = false;
      const text = pieces.map((piece) => {
        if (piece.path === undefined) return piece.text;
        const value = textAt(view, piece.path);
        if (value !== '') {
          found = true;
          unfound.delete(piece.path);
        }
        return value;
      });
      return found ? text.join('') : '';
    },
  };
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

/** Pure: a member of a record as text. */
export function textAt(view: JsonView, path: string): string {
  const value = foundIn(view, path);
  if (value === undefined || kindOf(value) === 'null') return '';
  return (stringOf(value) ?? value).trim();
}

/** Pure: the name that is meant: exactly, else in another case. */
export function nameIn(names: Iterable<string>, wanted: string): string | undefined {
  const all = [...names];
  if (all.includes(wanted)) return wanted;
  const lower = wanted.toLowerCase();
  return all.find((name) => name.toLowerCase() === lower);
}

/** Pure: the member of a record by such a name. */
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

const entityParts = ['links.website', 'website', 'links.linkedin_url', 'linkedin_url'];

/** Pure: who or what a record is, in one line, if it has the name of an entity; else empty. */
export function entityText(record: JsonText): string {
  const view = new JsonView(record);
  const name = textAt(view, 'name');
  const link = entityParts.map((path) => textAt(view, path)).find((text) => text !== '');
  const description = textAt(view, 'description');
  if (name === '') return '';
  return [name, link, link === undefined ? description : undefined].filter(Boolean).join(', ');
}
