import { descriptionOf, type Lead } from './lead.ts';
import { readSynonyms } from './synonyms.ts';

/** What the catalogue knows under a name, with where it is from. */
export interface Answer {
  readonly text: string;
  readonly reference: string;
}

/** Other names of facts, the likeliest first: `what is asked for = what is looked up`. Without spaces, underscores and hyphens. */
const table = `
employees = headcount, companyheadcount, teamsize
employeecount, numberofemployees, companysize, size = headcount, companyheadcount
teamsize = headcount
headcount = employees, companyheadcount, teamsize
stage, fundinground, latestround, lastround = fundingstage
funding = totalfundingusd, totalfunding, fundingstage
totalfunding = totalfundingusd, funding
fundingtotal, raised = totalfundingusd, totalfunding
founded = foundedyear, yearfounded
foundingyear, yearfounded, foundedin = foundedyear, founded
sector, vertical = industry
category = industry, topic, niche
location = city, country
headquarters, hq = city
subscribercount, followers = subscribers
followercount, subscribers = followers
role, jobtitle, position = title
employer, companyname = company
niche = topic, specialty
businessmodel = model
linkedin = linkedinurl
url, homepage, domain = website
`;

const synonyms = readSynonyms(table, (word) => word);

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
