import { UsageError } from '../errors.ts';
import { type JsonText, JsonView, kindOf, stringOf } from '../json/text.ts';

/** Makes a text of a record. */
export interface Template {
  /** The members of a record that it uses, by dot path. */
  readonly paths: readonly string[];
  /** Empty where the record has none of them. */
  fill(record: JsonText): string;
}

/** Pure: `{name}, {links.website}`; `{{` and `}}` are braces. Throws UsageError. */
export function toTemplate(source: string, name: string): Template {
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
  return {
    paths,
    fill(record) {
      const view = new JsonView(record);
      let found = false;
      const text = pieces.map((piece) => {
        if (piece.path === undefined) return piece.text;
        const value = textAt(view, piece.path);
        found ||= value !== '';
        return value;
      });
      return found ? text.join('') : '';
    },
  };
}

/** Pure: the member of a record, as a text. */
export function textAt(view: JsonView, path: string): string {
  const value = view.member(path) ?? view.at(path);
  if (value === undefined || kindOf(value) === 'null') return '';
  return (stringOf(value) ?? value).trim();
}

const entityParts = ['links.website', 'website', 'links.linkedin_url', 'linkedin_url'];

/** Pure: who or what a record is, in one line, where it looks like an entity of the service; else empty. */
export function entityText(record: JsonText): string {
  const view = new JsonView(record);
  const name = textAt(view, 'name');
  const link = entityParts.map((path) => textAt(view, path)).find((text) => text !== '');
  const description = textAt(view, 'description');
  if (name === '' || (link === undefined && description === '')) return '';
  return [name, link, link === undefined ? description : undefined].filter(Boolean).join(', ');
}
