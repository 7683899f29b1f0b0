import { descriptionOf, type Lead } from './lead.ts';

/** What the catalogue knows under a name, with where it is from. */
export interface Answer {
  readonly text: string;
  readonly reference: string;
}

/** Other names of facts, all without spaces, underscores and hyphens. The likeliest first. */
const synonyms: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    employees: ['headcount', 'companyheadcount', 'teamsize'],
    employeecount: ['headcount', 'companyheadcount'],
    numberofemployees: ['headcount', 'companyheadcount'],
    companysize: ['headcount', 'companyheadcount'],
    size: ['headcount', 'companyheadcount'],
    teamsize: ['headcount'],
    headcount: ['employees', 'companyheadcount', 'teamsize'],
    stage: ['fundingstage'],
    fundinground: ['fundingstage'],
    latestround: ['fundingstage'],
    lastround: ['fundingstage'],
    funding: ['totalfundingusd', 'totalfunding', 'fundingstage'],
    totalfunding: ['totalfundingusd', 'funding'],
    fundingtotal: ['totalfundingusd', 'totalfunding'],
    raised: ['totalfundingusd', 'totalfunding'],
    founded: ['foundedyear', 'yearfounded'],
    foundingyear: ['foundedyear', 'founded'],
    yearfounded: ['foundedyear', 'founded'],
    foundedin: ['foundedyear', 'founded'],
    sector: ['industry'],
    category: ['industry', 'topic', 'niche'],
    vertical: ['industry'],
    location: ['city', 'country'],
    headquarters: ['city'],
    hq: ['city'],
    subscribercount: ['subscribers'],
    followercount: ['followers'],
    followers: ['subscribers'],
    subscribers: ['followers'],
    role: ['title'],
    jobtitle: ['title'],
    position: ['title'],
    employer: ['company'],
    companyname: ['company'],
    niche: ['topic', 'specialty'],
    businessmodel: ['model'],
    linkedin: ['linkedinurl'],
    url: ['website'],
    homepage: ['website'],
    domain: ['website'],
  }),
);

/** Fields that only Contact Search may answer. */
function asksForContact(field: string): boolean {
  return /e-?mail|phone|mobile|telephone|whats ?app/i.test(field.replace(/_/g, ' '));
}

/** Answers fields by their names, from the facts, links and description of a lead. */
export function answersOf(lead: Lead): (field: string) => Answer | undefined {
  const reference = referenceOf(lead);
  const known = new Map<string, Answer>();
  const note = (name: string, text: string, source = reference) => {
    if (text !== '') known.set(normalized(name), { text, reference: source });
  };
  note('name', lead.name);
  note('description', descriptionOf(lead) ?? '');
  for (const [name, link] of lead.links) note(name, link);
  for (const [name, fact] of lead.facts) note(name, fact, lead.sources.get(name));
  return (field) => {
    if (asksForContact(field)) return undefined;
    const asked = normalized(field);
    const name = [asked, ...(synonyms.get(asked) ?? [])].find((one) => known.has(one));
    return name === undefined ? undefined : known.get(name);
  };
}

export function referenceOf({ links }: Lead): string {
  return links.get('website') ?? [...links.values()][0] ?? '';
}

function normalized(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
