import { linksIn } from '../columns/record-parts.ts';
import type { ExtractionType } from '../contract/types.ts';
import { type JsonText, JsonView, stringOf } from '../json/text.ts';
import { columnsByMeaning, joinName, type Meaning } from './column-meanings.ts';
import { containerAt, containerIn, textAt } from './template.ts';

/** Makes the text to send for a row that has no column for it, from its columns with known meanings. Empty if there are none. */
export type ToRowText = (record: JsonText) => string;

/** The paths of links in a lead, which are also column headers. */
const linkPaths = ['links.website', 'links.linkedin_url'];
/** A placeholder such as `n/a`, or an error value of a spreadsheet. */
const nothing = /^(?:n\/a|[-–—?.]+|#(?:n\/a|(?:ref|value|null|num|div\/0|spill|calc)!|name\?))$/i;

export function isEmptyWord(text: string): boolean {
  return nothing.test(text);
}

/** Finds the columns with a meaning. Caches the last result, because the next record mostly has the same columns. */
function createFinder() {
  let last: string | undefined;
  let found = columnsByMeaning([]);
  return (paths: readonly string[]) => {
    const names = paths.join('\n');
    if (names !== last) [last, found] = [names, columnsByMeaning(paths)];
    return found;
  };
}

function pathsOf(names: Iterable<string>): readonly string[] {
  const paths = [...names];
  return paths.some((name) => name.toLowerCase() === 'links') ? [...paths, ...linkPaths] : paths;
}

/** The text at a path, on one line; for an object, its `name`. */
function lineAt(view: JsonView, path: string): string {
  const whole = textAt(view, path);
  const text = containerIn(whole) === undefined ? whole : textAt(view, `${path}.name`);
  return toLine(text);
}

/** The address at a path, on one line; for a list or an object, its first link. */
function addressAt(view: JsonView, path: string): string {
  const inside = containerIn(textAt(view, path));
  return inside === undefined ? lineAt(view, path) : toLine(stringOf(linksIn(inside)[0]) ?? '');
}

function toLine(text: string): string {
  return isEmptyWord(text) ? '' : text.replace(/\s+/g, ' ').trim();
}

/**
 * Who or what a record is, in one line: `Ada Example, CTO, Acme (acme.example)`. The place or the description is only used where nothing else
 * tells it from others of the same name.
 */
export function createIdentityText(): ToRowText {
  const find = createFinder();
  return (record) => {
    const view = new JsonView(record);
    const columns = find(pathsOf(view.names()));
    /** The first text that is not empty, among the columns with this meaning. */
    const read = (meaning: Meaning, textIn = lineAt): string => {
      for (const path of columns(meaning)) {
        const text = textIn(view, path);
        if (text !== '') return text;
      }
      return '';
    };
    const { name, company } = toNames(read('name'), read('first'), read('last'), read('company'));
    const website = read('website', addressAt);
    const profile = read('profile', addressAt) || otherLink(view);
    const who = name === '' ? [] : [name, read('title')];
    const where = company !== '' && website !== '' ? [`${company} (${website})`] : [company, website];
    if (![...who, ...where, profile].some(Boolean)) return '';
    const more = website !== '' ? [] : profile !== '' ? [profile] : [read('city'), read('country')];
    const parts = [...who, ...where, ...more].filter(Boolean);
    const isBare = parts.length === 1 && website === '' && profile === '';
    return [...parts, isBare ? read('description') : ''].filter(Boolean).join(', ');
  };
}

/**
 * Pure: the filled columns of a record that the sent text does not use. None if the text has a company or a link, which is enough to
 * identify the record.
 */
export function unusedIn(record: JsonText, sent: string): readonly string[] {
  const view = new JsonView(record);
  const names = [...view.names()];
  const find = columnsByMeaning(names);
  const isSent = (path: string): boolean => sent.includes(lineAt(view, path));
  const isEnough = [...find('company'), ...find('website'), ...find('profile')].some(
    (path) => lineAt(view, path) !== '' && isSent(path),
  );
  if (isEnough || link.test(sent)) return [];
  return names.filter((path) => lineAt(view, path) !== '' && !isSent(path));
}

const link = /https?:\/\/|\bwww\.|(?:^|[\s(])[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:$|[\s/),])/;

/** The first link of a lead that has no website and no profile. */
function otherLink(view: JsonView): string {
  return containerAt(view, 'links') === undefined ? '' : addressAt(view, 'links');
}

/** Pure: the name of the person (or the only name in the record), and of the company. */
function toNames(whole: string, first: string, family: string, company: string) {
  const isIn = (part: string): boolean => joinName([part, whole]) === whole;
  // A whole name that contains neither the first nor the last name is not the person's.
  const isOther = whole !== '' && first !== '' && family !== '' && !isIn(first) && !isIn(family);
  const name = joinName(isOther ? [first, family] : [first, whole, family]);
  const own = company === '' && isOther ? whole : company;
  return { name, company: own.toLowerCase() === name.toLowerCase() ? '' : own };
}

/**
 * Pure: a template for the identity of records with these columns; undefined if no column tells it. A template can't contain a column name
 * with a brace.
 */
export function toIdentityTemplate(names: Iterable<string>): string | undefined {
  const paths = pathsOf(names).filter((path) => !/[{}]/.test(path));
  const columns = columnsByMeaning(paths);
  const find = (meaning: Meaning): string[] => columns(meaning).slice(0, 1).map(braced);
  const [whole, company, website] = [find('name'), find('company'), find('website')];
  const parts = [...find('first'), ...find('last')];
  const name = parts.length === 2 || whole.length === 0 ? parts : whole;
  const site = company.length > 0 ? website.map((one) => `(${one})`) : [];
  const all = [
    name,
    name.length === 0 ? [] : find('title'),
    [...company, ...site],
    site.length > 0 ? [] : website,
  ];
  const found = all.filter((part) => part.length > 0).map((part) => part.join(' '));
  return found.length === 0 ? undefined : found.join(', ');
}

function braced(path: string): string {
  return `{${path}}`;
}

/** The meanings of columns with the target of each kind of extraction, the most certain first. */
const targetMeanings: Readonly<Record<string, readonly Meaning[]>> = {
  x: ['x', 'handle'],
  github_user: ['github', 'handle'],
  github_repo: ['repository'],
  ins: ['ins', 'handle'],
  tiktok: ['tiktok', 'handle'],
  web2list: ['website'],
};

/** Makes the text from the column with the target of this extraction type. */
export function createTargetText(type: ExtractionType): ToRowText {
  const find = createFinder();
  const meanings = targetMeanings[type.replace(/_[^_]+$/, '')] ?? [];
  return (record) => {
    const view = new JsonView(record);
    const columns = find(pathsOf(view.names()));
    const [path] = meanings.flatMap(columns);
    const text = path === undefined ? '' : addressAt(view, path);
    // A domain alone is no URL.
    return type === 'web2list' && text !== '' && !URL.canParse(text) ? `https://${text}` : text;
  };
}
