import type { Lead } from './lead.ts';

/** What the catalogue knows under a name, with where it is from. */
export interface Answer {
  readonly text: string;
  readonly reference: string;
}

/** Other names of facts, all without spaces, underscores and hyphens. The likeliest first. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
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
};

/** Fields that only Contact Search may answer. */
function asksForContact(field: string): boolean {
  return /e-?mail|phone|mobile|telephone|whats ?app/i.test(field.replace(/_/g, ' '));
}

/** Answers a field by its name, from the facts, links and description of a lead. */
export function answerOf(lead: Lead, field: string): Answer | undefined {
  if (asksForContact(field)) return undefined;
  const reference = referenceOf(lead);
  const known = new Map<string, string>();
  const { description } = JSON.parse(lead.record) as { description?: unknown };
  known.set('name', lead.name);
  if (typeof description === 'string' && description !== '') known.set('description', description);
  for (const [name, link] of Object.entries(lead.links)) known.set(normalized(name), link);
  for (const [name, fact] of Object.entries(lead.facts)) if (fact !== '') known.set(normalized(name), fact);
  const asked = normalized(field);
  for (const name of [asked, ...(synonyms[asked] ?? [])]) {
    const answer = known.get(name);
    if (answer !== undefined) return { text: answer, reference };
  }
  return undefined;
}

export function referenceOf({ links }: Lead): string {
  return links.website ?? Object.values(links)[0] ?? '';
}

function normalized(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
