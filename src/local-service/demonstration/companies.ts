import type { CatalogueEntity } from '../catalogue-entity.ts';
import { type Industry, localIndustries, type Niche, ventureIndustries } from './industries.ts';
import { inventBusiness } from './names.ts';
import { type Place, phoneIn, placeInText, placeOf, places } from './places.ts';
import { Random } from './random.ts';
import { type Cluster, fill, list, lookUp, readClusters, table, UniqueNames } from './text.ts';

export interface Company {
  readonly lead: CatalogueEntity;
  readonly name: string;
  readonly domain: string;
  readonly place: Place;
  readonly industry: Industry;
  readonly niche: Niche;
  readonly stage: string;
  readonly headcount: number;
}

interface Stage {
  readonly name: string;
  /** How often, against the others. */
  readonly share: number;
  readonly adjectives: readonly string[];
  readonly noun: string;
  readonly headcount: readonly [number, number];
  readonly founded: readonly [number, number];
  /** Millions of dollars; [0, 0] is none. */
  readonly funding: readonly [number, number];
  readonly closings: readonly string[];
}

function range(text: string): readonly [number, number] {
  const [low = 0, high = low] = text.split('-').map(Number);
  return [low, high];
}

const stages: readonly Stage[] = table(`
bootstrapped | 3 | bootstrapped, self-funded | company | 3-60 | 2006-2022 | 0-0 | Profitable since its second year, it has taken no outside money. ; It is bootstrapped and grows from revenue alone. ; The founders own all of it and intend to keep it that way.
pre-seed | 2 | pre-seed | startup | 2-9 | 2023-2025 | 0.2-1.4 | A pre-seed round of {money} pays for the first pilots. ; It raised {money} pre-seed from angels and is testing with early customers.
seed | 4 | seed-stage, seed stage | startup | 5-28 | 2020-2024 | 1.5-6 | It closed a {money} seed round and is hiring its first sales people. ; A {money} seed round funds the move from pilots to paying customers. ; Seed investors have put in {money} so far.
Series A | 4 | Series A | startup | 22-85 | 2017-2023 | 7-24 | It raised {money} up to its Series A. ; With {money} raised through Series A, it is opening a second market. ; The Series A brought total funding to {money}.
Series B | 3 | Series B | scale-up | 60-210 | 2014-2021 | 25-75 | The Series B took total funding to {money}. ; It has raised {money} and spends the Series B on new markets. ; Funding stands at {money} after the Series B.
Series C | 2 | Series C | scale-up | 160-520 | 2011-2019 | 80-190 | Investors have put in {money} up to the Series C. ; After its Series C, total funding is {money}.
Series D | 1 | Series D | company | 340-1200 | 2008-2017 | 200-480 | It has raised {money} including its Series D. ; A Series D brought the total raised to {money}.
public | 1 | publicly listed, public | company | 700-6400 | 1997-2013 | 90-600 | The shares have traded publicly for several years. ; It raised {money} before its listing and is now a public company.
`).map((cell) => ({
  name: cell(0),
  share: Number(cell(1)),
  adjectives: list(cell(2)),
  noun: cell(3),
  headcount: range(cell(4)),
  founded: range(cell(5)),
  funding: range(cell(6)),
  closings: list(cell(7), ';'),
}));

const stageByName = new Map(stages.map((stage) => [stage.name, stage]));
const stageDeck = stages.flatMap((stage) => Array.from({ length: stage.share }, () => stage));

/** city | industry | stage, or any | how many. The rest of the companies fall where their city's strengths are. */
const clusters = readClusters(`
Berlin | fintech | seed | 14
Berlin | fintech | | 16
Amsterdam | climate tech | Series B | 10
Amsterdam | climate tech | | 8
San Francisco | AI infrastructure | Series B | 8
San Francisco | AI infrastructure | Series A | 8
San Francisco | AI infrastructure | | 8
Rotterdam | logistics | | 18
Tel Aviv | cybersecurity | | 18
London | healthtech | | 20
Lisbon | | seed | 8
Stockholm | | Series A | 8
Paris | fintech | Series A | 8
Boston | biotech | | 10
Tokyo | robotics | | 10
Taipei | semiconductor | | 8
Nairobi | agritech | | 8
São Paulo | fintech | | 9
Austin | dental clinic | | 14
`);

/** Added later, with chances of their own, so that the companies before stay as they are. */
const laterClusters = readClusters(`
Vienna | dental clinic | | 10
Vienna | fintech | | 5
Vienna | | | 9
New York | cybersecurity | Series B | 8
New York | cybersecurity | | 4
`);

const openings = list(
  `
{name} is a(n) {stage} {industry} {noun} in {place}, that offers {product} for {customers}.
From {place}, {name} sells {product} to {customers}. It is a(n) {stage} {industry} {noun} with a focus on {focus}.
A(n) {stage} {industry} {noun} based in {place}. {name} works on {focus}: {product}, made for {customers}.
{name} is known for {product}. Its customers are {customers}, its field {focus}. The {stage} {industry} {noun} sits in {place}.
{Customers} turn to {name} for {product}. The {stage} {industry} {noun} runs from {place}.
{Industry} {noun} from {place}, {stage}, specialised in {focus}. {name} supplies {customers} with {product}.
`,
  '\n',
);

const teams = list(
  `
Founded in {year}, it employs {headcount} people.
The team of {headcount} has been at it since {year}.
Started in {year}, it now has {headcount} employees.
It was founded in {year} and has {headcount} people on staff.
`,
  '\n',
);

const localOpenings = list(
  `
{name} is a(n) {industry} in {place}, known for {product}. Most of its clients are {customers}.
An independent {industry} in {place}. {name} specialises in {focus} and offers {product} for {customers}.
{Customers} in {place}, come to {name}, a(n) {industry} with a name for {product}.
Owner-run {industry} in {place}: {product}. {name} serves {customers}.
`,
  '\n',
);

const localTeams = list(
  `
It opened in {year} and has {headcount} staff.
Family-owned since {year}, with a team of {headcount}.
A team of {headcount} works there; the doors opened in {year}.
`,
  '\n',
);

export interface Companies {
  readonly companies: readonly Company[];
  readonly laterCompanies: readonly Company[];
}

/** `total` companies, and those that were added later. */
export function makeCompanies(total: number): Companies {
  const random = new Random('companies');
  const names = new UniqueNames();
  const ventures = [...ventureIndustries.values()];
  const locals = [...localIndustries.values()];
  const bootstrapped = lookUp(stageByName, 'bootstrapped');
  const industryOf = (label: string): Industry =>
    ventureIndustries.get(label) ?? lookUp(localIndustries, label);

  function* found({ city, industry: label, detail: name, count }: Cluster, draw: Random): Generator<Company> {
    const place = placeOf(city);
    for (let left = count; left > 0; left--) {
      const industry = industryOf(label || draw.pick(place.industries));
      const stage = name === '' ? draw.pick(stageDeck) : lookUp(stageByName, name);
      yield compose(place, industry, localIndustries.has(industry.label) ? bootstrapped : stage, names, draw);
    }
  }

  const companies = clusters.flatMap((cluster) => [...found(cluster, random)]);
  while (companies.length < total) {
    const place = random.pick(places);
    const add = (industry: Industry, stage: Stage): number =>
      companies.push(compose(place, industry, stage, names, random));
    if (random.chance(0.12)) add(random.pick(locals), bootstrapped);
    else if (random.chance(0.7)) add(industryOf(random.pick(place.industries)), random.pick(stageDeck));
    else add(random.pick(ventures), random.pick(stageDeck));
  }
  const later = new Random('later companies');
  return { companies, laterCompanies: laterClusters.flatMap((cluster) => [...found(cluster, later)]) };
}

function compose(
  place: Place,
  industry: Industry,
  stage: Stage,
  names: UniqueNames,
  random: Random,
): Company {
  const local = industry.localTitles.length > 0;
  const niche = random.pick(industry.niches);
  const { name, site } = inventBusiness(names, place, industry.words, random);
  const headcount = local ? random.magnitude(4, 40) : random.magnitude(...stage.headcount);
  const year = random.integer(...stage.founded);
  const funding = stage.funding[1] === 0 ? 0 : random.magnitude(stage.funding[0] * 10, stage.funding[1] * 10);
  const values = {
    name,
    ...niche,
    stage: random.pick(stage.adjectives),
    noun: stage.noun,
    industry: industry.label,
    place: placeInText(place),
    headcount,
    year,
    money: funding < 10 ? `$${funding}00k` : `$${funding / 10}M`,
  };
  const sentences = local
    ? [random.pick(localOpenings), random.pick(localTeams)]
    : [random.pick(openings), random.pick(teams), random.pick(stage.closings)];
  const domain = `${site}.example`;
  const lead: CatalogueEntity = {
    entity_type: 'company',
    entity: {
      name,
      links: {
        website: `https://www.${domain}`,
        ...(random.chance(0.85) && { linkedin_url: `https://www.linkedin.example/company/${site}` }),
        ...(random.chance(0.3) && { x_url: `https://x.example/${site.replaceAll('-', '_')}` }),
      },
      description: sentences.map((sentence) => fill(sentence, values)).join(' '),
    },
    facts: {
      industry: industry.label,
      specialty: niche.focus,
      product: niche.product,
      customers: niche.customers,
      business_model: niche.model,
      city: place.city,
      country: place.country,
      funding_stage: stage.name,
      headcount,
      founded_year: year,
      total_funding_usd: funding * 100_000,
    },
    contact: {
      email: random.chance(0.7) ? `${random.pick(['hello', 'info', 'contact', 'team'])}@${domain}` : null,
      phone: random.chance(0.4) ? phoneIn(place.phone, random) : null,
    },
  };
  return { lead, name, domain, place, industry, niche, stage: stage.name, headcount };
}
