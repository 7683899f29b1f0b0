import type { CatalogueEntity } from '../catalogue-entity.ts';
import type { Company } from './companies.ts';
import { isWoman, personName } from './names.ts';
import { phoneIn, placeInText } from './places.ts';
import { Random } from './random.ts';
import { type Cluster, fill, list, readClusters, slug, table, UniqueNames } from './text.ts';

interface Role {
  readonly title: string;
  readonly seniority: string;
  readonly department: string;
  /** Smaller companies do not have it. */
  readonly smallest: number;
  readonly largest: number;
  readonly duties: readonly string[];
}

/** title | seniority | department | smallest and largest headcount | duties, which follow "who" or a name */
const roles: readonly Role[] = table(`
Founder | founder | leadership | 1-90 | sets the direction and still talks to customers every week ; started the company after hitting the problem in a former job
Co-founder & CEO | founder | leadership | 3-700 | looks after strategy, hiring and investors ; leads the company and its sales
Co-founder & CTO | founder | engineering | 3-250 | wrote the first version of the product and now leads engineering ; owns architecture and the technical team
CTO | C-level | engineering | 8-9999 | answers for architecture, security and the engineering team as chief technology officer ; runs engineering as chief technology officer and decides what to build and what to buy
CFO | C-level | finance | 60-9999 | owns planning, reporting and investor relations ; prepares budgets and the next financing round
COO | C-level | operations | 40-9999 | keeps delivery, support and suppliers in step ; turns plans into day-to-day operations
Head of Marketing | head | marketing | 8-9999 | runs brand, content and paid acquisition ; owns positioning, demand generation and the marketing budget ; rebuilt the marketing team around product launches
Head of Product | head | product management | 12-9999 | owns the roadmap and customer research ; decides priorities together with design and engineering
Head of Engineering | head | engineering | 25-9999 | leads several engineering squads ; looks after delivery, hiring and on-call health
Head of People | head | people operations | 30-9999 | covers recruiting, onboarding and pay ; builds the hiring process and the career framework
Head of Partnerships | head | partnerships | 25-9999 | signs channel partners and integrations ; manages resellers and alliances
VP of Sales | VP | sales | 40-9999 | leads the sales team from first call to renewal ; owns revenue targets and the sales playbook
Product Designer | individual contributor | design | 6-9999 | designs flows, prototypes and the design system ; runs usability tests and shapes the interface
Senior Product Designer | senior | design | 20-9999 | leads product design for the core experience ; mentors designers and maintains the design system
Product Manager | manager | product management | 15-9999 | plans releases and interviews users ; works between customers, design and engineering
Growth Marketing Manager | manager | marketing | 15-9999 | runs experiments on onboarding and paid channels ; owns lifecycle email and conversion
Senior Backend Engineer | senior | engineering | 10-9999 | works on APIs, data models and reliability ; keeps services fast and migrations boring
Frontend Engineer | individual contributor | engineering | 8-9999 | builds the web interface and cares about accessibility ; works on the customer-facing application
Data Scientist | individual contributor | data science | 20-9999 | builds forecasting models and measures experiments ; turns usage data into decisions
DevOps Engineer | individual contributor | engineering | 25-9999 | maintains deployment pipelines and monitoring ; looks after cloud cost and uptime
Account Executive | individual contributor | sales | 15-9999 | handles mid-market customers ; closes new business and negotiates contracts
Customer Success Manager | manager | customer success | 15-9999 | onboards customers and keeps them ; looks after renewals and training
Talent Acquisition Manager | manager | people operations | 50-9999 | fills engineering and commercial positions ; runs sourcing and interview training
Procurement Manager | manager | operations | 90-9999 | negotiates with suppliers and vets new software ; owns vendor contracts
`).map((cell) => {
  const [smallest = 0, largest = 0] = cell(3).split('-').map(Number);
  const [title, seniority, department] = [cell(0), cell(1), cell(2)];
  return { title, seniority, department, smallest, largest, duties: list(cell(4), ';') };
});

const localDuties = list(
  'looks after clients and the calendar; keeps the place running day to day; handles bookings, suppliers and the small team; is the person regulars ask for',
  ';',
);

/** city | industry, or any | title pattern | how many. The rest are spread over all companies. */
const clusters = readClusters(`
Berlin | fintech | Head of Marketing | 12
London | healthtech | CTO | 12
Stockholm | | Product Designer | 12
Lisbon | | Founder | 14
San Francisco | AI infrastructure | Head of Engineering | 6
Amsterdam | climate tech | Head of Product | 8
Tel Aviv | cybersecurity | VP of Sales | 6
`);

/** Added later, at companies of any age. */
const laterClusters = readClusters(`
New York | cybersecurity | VP of Sales | 8
Vienna | dental clinic | Dentist | 7
Austin | dental clinic | Dentist | 7
Vienna | | ounder | 6
`);

const openings = list(
  `
{title} at {company}, a(n) {kind} in {place}. {She} {duty}.
{name} is {title} at {company} in {place}, a(n) {kind} with {headcount} people, and {duty}.
Works as {title} at {company}, a(n) {kind} in {place}, where {she} {duty}.
Based in {place}, {name} {duty}. {Title} at {company}, a(n) {kind}.
`,
  '\n',
);

const backgrounds = list(
  `
Has spent {years} years in {department}.
{Years} years of experience; speaks {languages}.
Brings {years} years of experience in {department} and speaks {languages}.
Learned the trade in a larger firm before joining; {years} years in the field.
Speaks {languages}; now and then gives talks about {department}.
Mentors people who are new to {department}, after {years} years of doing it.
The company serves {customers}.
`,
  '\n',
);

/** `total` people at the companies, and those that were added later at those that were, too. */
export function* makePeople(
  total: number,
  companies: readonly Company[],
  laterCompanies: readonly Company[],
): Generator<CatalogueEntity> {
  const random = new Random('people');
  const names = new UniqueNames();
  const filled = new Set<string>();
  let made = 0;

  /** Nothing, where the company has someone with that title. */
  function employ(company: Company, role: Role, draw: Random): CatalogueEntity | undefined {
    const position = `${role.title} at ${company.domain}`;
    if (filled.has(position)) return undefined;
    filled.add(position);
    made++;
    return compose(company, role, names, draw);
  }

  function* hire(cluster: Cluster, some: readonly Company[], draw: Random): Generator<CatalogueEntity> {
    let left = cluster.count;
    for (const company of some) {
      if (left === 0) break;
      if (company.place.city !== cluster.city) continue;
      if (cluster.industry !== '' && company.industry.label !== cluster.industry) continue;
      const fitting = rolesIn(company).filter(({ title }) => title.includes(cluster.detail));
      if (fitting.length === 0) continue;
      const person = employ(company, draw.pick(fitting), draw);
      if (person === undefined) continue;
      left--;
      yield person;
    }
  }

  for (const cluster of clusters) yield* hire(cluster, companies, random);
  while (made < total) {
    const company = random.pick(companies);
    const person = employ(company, random.pick(rolesIn(company)), random);
    if (person !== undefined) yield person;
  }
  const later = new Random('later people');
  for (const cluster of laterClusters) yield* hire(cluster, [...companies, ...laterCompanies], later);
}

function seniorityInLocal(title: string): string {
  if (title === 'Founder') return 'founder';
  if (title === 'Managing Partner') return 'owner';
  return /Manager|Director/.test(title) ? 'manager' : 'senior';
}

function rolesIn(company: Company): readonly Role[] {
  if (company.industry.localTitles.length === 0) {
    return roles.filter(
      ({ smallest, largest }) => company.headcount >= smallest && company.headcount <= largest,
    );
  }
  return company.industry.localTitles.map((title) => ({
    title,
    seniority: seniorityInLocal(title),
    department: company.niche.focus,
    smallest: 1,
    largest: 9999,
    duties: roles.find((role) => role.title === title)?.duties ?? localDuties,
  }));
}

function compose(company: Company, role: Role, names: UniqueNames, random: Random): CatalogueEntity {
  const { place, industry, headcount } = company;
  let latin = '';
  const name = names.take(() => {
    const invented = personName(place.naming, random);
    latin = invented.latin;
    return invented.shown;
  });
  const local = industry.localTitles.length > 0;
  const years = role.seniority === 'individual contributor' ? random.integer(2, 9) : random.integer(6, 24);
  const stage = company.stage === 'seed' ? 'seed-stage' : company.stage;
  const values = {
    name,
    first: latin.split(' ')[0] ?? latin,
    she: isWoman(latin) ? 'she' : 'he',
    title: role.title,
    company: company.name,
    kind: local ? industry.label : `${stage} ${industry.label} company`,
    city: place.city,
    country: place.country,
    place: placeInText(place),
    headcount,
    duty: random.pick(role.duties),
    department: role.department,
    years,
    languages:
      place.language === 'English'
        ? `English and ${random.pick(['French', 'Spanish', 'German', 'Hindi', 'Italian'])}`
        : `${place.language} and English`,
    customers: company.niche.customers,
  };
  const handle = slug(latin);
  return {
    entity_type: 'person',
    entity: {
      name,
      links: {
        linkedin_url: `https://www.linkedin.example/in/${handle}-${random.integer(1000, 9999)}`,
        ...(random.chance(0.4) && { website: `https://www.${company.domain}` }),
        ...(random.chance(0.2) && { x_url: `https://x.example/${handle.replaceAll('-', '_')}` }),
      },
      description: `${fill(random.pick(openings), values)} ${fill(random.pick(backgrounds), values)}`,
    },
    facts: {
      title: role.title,
      seniority: role.seniority,
      department: role.department,
      gender: isWoman(latin) ? 'female' : 'male',
      company: company.name,
      company_website: `https://www.${company.domain}`,
      company_headcount: headcount,
      company_funding_stage: company.stage,
      industry: industry.label,
      city: place.city,
      country: place.country,
      years_of_experience: years,
    },
    contact: {
      email: random.chance(0.7) ? `${handle.replaceAll('-', '.')}@${company.domain}` : null,
      phone: random.chance(0.4) ? phoneIn(place.phone, random) : null,
    },
  };
}
