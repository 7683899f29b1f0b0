import { isObject } from '../../json/object.ts';
import { shellWord } from './proposed.ts';

/** The names of operations in the interface document, and the command for each. */
const operations: Readonly<Record<string, string>> = {
  'entity-search': 'search',
  'contact-search': 'contact',
  'deep-search': 'research',
  'create-task': 'task create',
  fetch: 'task fetch',
};

/** Request members that are arguments here, in the order of the arguments, each with its command. */
const members: Readonly<Record<string, string | undefined>> = {
  entity_type: 'search',
  contact_type: 'contact',
  type: undefined,
  leads_search_id: undefined,
  objective: undefined,
  query: 'research',
  entity_context: 'enrich',
  target: 'extract',
};

/** The argument with the type comes first, then the one with the subject. */
const [kinds, subjects] = [Object.keys(members).slice(0, 4), Object.keys(members).slice(4)];

/** Pure: the command for an operation of the interface, written with - or _; undefined for any other word. */
export function commandOfOperation(word: string): string | undefined {
  const name = word.replaceAll('_', '-').toLowerCase();
  return Object.hasOwn(operations, name) ? operations[name] : undefined;
}

/** Pure: the command for a request in JSON; undefined for any other text. */
export function commandOfBody(text: string): string | undefined {
  const body = toBody(text);
  if (body?.enable_web_search !== undefined) return 'task run';
  const member = Object.keys(members).find((one) => body?.[one] !== undefined && members[one] !== undefined);
  return member === undefined ? undefined : members[member];
}

/** Pure: the command line for a JSON request, or for its members as options: arguments first, then options. */
export function toOwnLine(command: string, words: readonly string[]): string {
  const given = new Map<string, string>();
  const rest: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    const [, name = '', value] = /^--([a-z_-]+)(?:=(.*))?$/s.exec(word) ?? [];
    const member = name.replaceAll('-', '_');
    if (Object.hasOwn(members, member)) given.set(member, value ?? words[++at] ?? '…');
    else if (toBody(word) === undefined) rest.push(shellWord(word));
    for (const [key, part] of Object.entries(toBody(word) ?? {})) {
      if (Object.hasOwn(members, key)) given.set(key, String(part));
      else rest.push(...toOption(key, part));
    }
  }
  const valuesOf = (some: readonly string[]): string[] =>
    some.flatMap((member) => given.get(member) ?? []).map(shellWord);
  const texts = rest.findIndex((word) => word.startsWith('-'));
  const operands = rest.splice(0, texts === -1 ? rest.length : texts);
  return ['leadpipe', command, ...valuesOf(kinds), ...operands, ...valuesOf(subjects), ...rest].join(' ');
}

function toOption(member: string, value: unknown): string[] {
  const name = `--${member.replaceAll('_', '-')}`;
  if (value === true) return [name];
  if (value === false || value === null) return [];
  // The fields of an enrich request are a JSON Schema.
  if (isObject(value)) return ['--schema', '<file>'];
  return [name, shellWord(Array.isArray(value) ? value.join(',') : String(value))];
}

function toBody(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) ? body : undefined;
  } catch {
    return undefined;
  }
}
