import type { EntityType } from '../contract/types.ts';

/** Texts by name, each name once. */
type Texts = readonly (readonly [name: string, text: string])[];

/** A lead as it was read from a file. */
export interface NewLead {
  /** Null: it is found under every type. */
  readonly entityType: EntityType | null;
  readonly name: string;
  readonly description: string;
  readonly links: Texts;
  /** The record that a search returns, as it was written, without the score. */
  readonly record: string;
  /** By name; numbers as they were written. */
  readonly facts: Texts;
  /** The sources of facts, where they are known. */
  readonly sources: Texts;
  readonly email: string | null;
  readonly phone: string | null;
}

/** A lead of the catalogue. */
export interface Lead extends NewLead {
  /** Its place in the index, from 1. */
  readonly id: number;
  /** The same for a lead in every search, whatever its position. */
  readonly identity: string;
}

/** Fields that only Contact Search may answer. */
const contactField = /e-?mail|phone|mobile|telephone|whats ?app/i;

/** Answers fields by name, from the facts, links and description of a lead, with the source. */
export function answersOf(lead: Lead) {
  const defaultReference = referenceOf(lead);
  const { name, description, links, facts } = lead;
  const sources = new Map(lead.sources);
  const known = new Map<string, { readonly text: string; readonly reference: string }>();
  const note = (field: string, text: string, reference = defaultReference) =>
    text !== '' && known.set(factKey(field), { text, reference });
  for (const [field, text] of [['name', name] as const, ['description', description] as const, ...links])
    note(field, text);
  for (const [field, text] of facts) note(field, text, sources.get(field));
  return (field: string) => {
    if (contactField.test(field.replace(/_/g, ' '))) return undefined;
    const name = [factKey(field), ...otherNamesOf(field)].find((one) => known.has(one));
    return name === undefined ? undefined : known.get(name);
  };
}

export function referenceOf({ links }: Lead): string {
  return new Map(links).get('website') ?? links[0]?.[1] ?? '';
}

/** The letters and digits of a name, for comparing. */
export function bareName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** A normalised name: "Team sizes" and `team_size` have the same key. */
export function factKey(name: string): string {
  return bareName(name).replace(/s$/, '');
}

/** Each line has the names of one fact, as keys, the most common first. */
const namesOfFacts = `
  headcount employee employeecount numberofemployee companyheadcount companysize teamsize size team people staff worker
  subscriber follower subscribercount followercount fan
  foundedyear founded yearfounded foundingyear foundedin
  totalfundingusd totalfunding fundingtotal funding raised
  fundingstage stage fundinground latestround lastround funding
  industry sector vertical category
  topic niche category
  specialty niche
  city location headquarter hq
  country location
  title role jobtitle position
  company employer companyname
  businessmodel model
  website url homepage domain
  linkedinurl linkedin
  averageview view monthlyview
  monthlyvisit visit visitor
  yearsofexperience year`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(' '));

/** The keys of other names of a fact, the most likely first. */
export function otherNamesOf(name: string): string[] {
  const key = factKey(name);
  return namesOfFacts.filter((names) => names.includes(key)).flat();
}
