import { beforeAll, describe, expect, it } from 'vitest';
import { type EntityType, entityTypes, streamEntityTypes } from '../../src/contract/types.ts';
import { naturalObjectives, rowsOf, toFit } from './natural-objectives.ts';
import { type FoundLead, type Running, running } from './running.ts';

/** What the demonstration finds, for objectives as people type them. */

type Found = FoundLead & { readonly facts: Readonly<Record<string, string>> };

const hints: string[] = [];
let service: Running;
beforeAll(async () => {
  service = await running({
    leads: 'demonstration',
    switches: { batch_size: 1000, opening_credits: 10_000_000, task_start_ms: 0, task_step_ms: 0 },
    hint: (line) => hints.push(line),
  });
});

const enrich_fields = ['title', 'industry', 'city', 'country', 'gender', 'seniority', 'funding_stage'];
enrich_fields.push('headcount', 'founded', 'topic', 'language', 'followers', 'subscribers', 'format');
enrich_fields.push('products', 'customers', 'product_category', 'business_model', 'specialty');

/** All that fits, with its facts, by a stream where there is one. */
async function find(entity_type: EntityType, objective: string): Promise<Found[]> {
  const asked = { entity_type, objective, limit: 400, enrich_fields };
  const byStream = streamEntityTypes.some((one) => one === entity_type);
  const found: FoundLead[] = byStream ? (await service.search(asked)).leads : await byTask(asked);
  return found.map((lead) => {
    const answers = Object.entries(lead.enrich_fields as Record<string, { content: string }>);
    return { ...lead, facts: Object.fromEntries(answers.map(([name, { content }]) => [name, content])) };
  });
}

async function byTask(asked: object): Promise<FoundLead[]> {
  const task = await service.json('createTask', { ...asked, enable_web_search: true });
  return (await service.json('fetch', { ...task, num: 500 })).entities;
}

/** At least so many are found, and each of them is so. */
const found = `
company # fintech in Berlin # 30 # industry=^fintech$; city=^Berlin$
company # seed-stage fintech in Berlin # 14 # industry=^fintech$; city=^Berlin$; funding_stage=^seed$
company # fintech startups in London that closed a Series A # 1 # industry=^fintech$; city=^London$; funding_stage=^Series A$
company # AI infrastructure startups in San Francisco with more than 50 employees # 8 # industry=^AI infrastructure$; city=^San Francisco$; headcount>50
company # AI-powered startups based in San Francisco # 8 # city=^San Francisco$
company # cybersecurity companies in New York # 12 # industry=^cybersecurity$; city=^New York$
company # B2B SaaS in Amsterdam with 10-50 employees # 3 # business_model=B2B SaaS; city=^Amsterdam$; headcount<=50
company # law firms in Europe # 5 # industry=^law firm$
company # Nordlicht Pay # 1 # name=^Nordlicht Pay$
person # VP of Sales at cybersecurity companies in New York # 6 # title=^VP of Sales$; industry=^cybersecurity$; city=^New York$
person # heads of marketing at fintech companies in Berlin # 10 # title=^Head of Marketing$; industry=^fintech$; city=^Berlin$
person # CTOs of healthtech startups in London # 8 # title=CTO; industry=^healthtech$; city=^London$
person # senior product designers in Stockholm # 1 # title=^Senior Product Designer$; city=^Stockholm$
youtube_creator # climate podcasts on YouTube with over 100k subscribers # 8 # topic=^climate$; format=^podcast$; subscribers>100000
youtube_creator # travel vloggers with 100k followers # 1 # topic=^travel$; subscribers>99999
shopify_store # shopify stores for trail running # 20 # product_category=^trail running$
shopify_store # running shoes # 5 # product_category=^trail running$
shopify_store # stores that sell running shoes in Germany # 0 # product_category=^trail running$; country=^Germany$
instagram_creator # running influencers # 8 # description=runn
company # space tech startups # 8 # industry=^space tech$
company # companies in the fintech space # 60 # industry=^fintech$
company # the best new fast-growing fintech startups hiring in Berlin right now # 30 # industry=^fintech$; city=^Berlin$
person # founders in New York # 2 # title=ounder; city=^New York$
company # dentists in Austin # 14 # industry=^dental clinic$; city=^Austin$
company # dental practices in Vienna # 0 # industry=^dental clinic$; city=^Vienna$
person # dentists in Austin # 7 # industry=^dental clinic$; city=^Austin$
company # breweries in the UK # 1 # industry=^craft brewery$; country=^United Kingdom$
company # health tech in London # 20 # industry=^healthtech$; city=^London$
company # climate startups in Europe # 15 # industry=^climate tech$
company # accounting firms in Germany # 1 # industry=^accounting firm$; country=^Germany$
person # female founders in Lisbon # 8 # gender=^female$; title=ounder; city=^Lisbon$
person # women who founded fintechs # 4 # gender=^female$; title=ounder; industry=^fintech$
person # male founders in Lisbon # 8 # gender=^male$; title=ounder; city=^Lisbon$
person # software engineers at fintechs in London # 1 # title=Engineer$; city=^London$
person # heads of sales # 20 # title=^VP of Sales$
instagram_creator # vegan recipes # 12 # topic=^vegan (baking|cooking)$
tiktok_creator # vegan recipe creators # 12 # topic=^vegan (baking|cooking)$
youtube_creator # vegan recipes # 8 # topic=^vegan (baking|cooking)$
youtube_creator # home espresso reviewers # 10 # topic=^home espresso$
shopify_store # candle shops # 5 # product_category=^scented candles$
shopify_store # sustainable skincare brands in France # 10 # product_category=^sustainable skincare$; country=^France$
company # fintech startups in Berlin or Munich # 31 # industry=^fintech$; city=^(Berlin|Munich)$
company # fintechs in Berlin, Munich and Hamburg # 33 # industry=^fintech$; city=^(Berlin|Munich|Hamburg)$
company # fintech in Berlin, Germany # 30 # industry=^fintech$; city=^Berlin$
company # biotech, robotics or gaming companies in Tokyo # 10 # industry=^(biotech|robotics|gaming)$; city=^Tokyo$
person # CFOs or COOs of fintechs # 2 # title=CFO|COO; industry=^fintech$
company # fintech not in Berlin # 40 # industry=^fintech$; city!Berlin
company # fintech companies that are not based in Berlin # 40 # industry=^fintech$; city!Berlin
company # fintechs that aren't in Berlin or Munich # 40 # industry=^fintech$; city!Berlin|Munich
company # fintechs in Germany except Berlin, Munich and Hamburg # 0 # industry=^fintech$; country=^Germany$; city!Berlin|Munich|Hamburg
company # companies not in Germany # 100 # country!Germany
company # non-US fintechs # 60 # industry=^fintech$; country!United States
company # fintechs outside Europe # 15 # industry=^fintech$; country!Germany|France|United Kingdom|Spain|Italy|Poland
company # startups in Berlin, but no fintech # 8 # city=^Berlin$; industry!fintech
company # biotech not founded after 2015 # 8 # industry=^biotech$; founded<=2015
company # not only fintech in Berlin # 30 # industry=^fintech$; city=^Berlin$
company # companies in Berlin with not more than 20 employees # 10 # city=^Berlin$; headcount<=20
person # product designers who are not senior in Stockholm # 10 # title=^Product Designer$; city=^Stockholm$
person # founders in Lisbon without CEOs # 5 # title=^(Founder|Co-founder & CTO)$; city=^Lisbon$
youtube_creator # podcasts not over 100k subscribers # 10 # format=^podcast$; subscribers<=100000
shopify_store # jewellery brands that are not in the US # 5 # product_category=jewellery; country!United States
shopify_store # coffee, not in Germany # 8 # product_category=coffee; country!Germany
company # Fintechs aus Berlin # 30 # industry=^fintech$; city=^Berlin$
company # Fintech-Startups in Berlin mit weniger als 20 Mitarbeitern # 8 # industry=^fintech$; city=^Berlin$; headcount<=20
company # Berliner Fintechs # 30 # industry=^fintech$; city=^Berlin$
company # Zahnarztpraxen in Wien # 10 # industry=^dental clinic$; city=^Vienna$
company # Zahnarztpraxis in Wien # 10 # industry=^dental clinic$; city=^Vienna$
company # Brauereien in Deutschland # 1 # industry=^craft brewery$; country=^Germany$
company # Fintechs in Deutschland, aber nicht in Berlin # 3 # industry=^fintech$; country=^Germany$; city!Berlin
company # Fintechs außerhalb von Deutschland # 40 # industry=^fintech$; country!Germany
company # Unternehmen in München ohne Robotik # 5 # city=^Munich$; industry!robotics
company # Biotechs, die vor 2015 gegründet wurden # 5 # industry=^biotech$; founded<=2014
person # Zahnärzte in Wien # 7 # industry=^dental clinic$; city=^Vienna$
person # Gründerinnen in Lissabon # 8 # gender=^female$; title=ounder; city=^Lisbon$
person # Marketingleiter bei Fintechs in Berlin # 10 # title=^Head of Marketing$; industry=^fintech$; city=^Berlin$
youtube_creator # Klimapodcasts mit mehr als 100.000 Abonnenten # 8 # topic=^climate$; format=^podcast$; subscribers>100000
youtube_creator # Kochkanäle auf Spanisch # 10 # topic=cooking$; language=^Spanish$
shopify_store # Läden für Laufschuhe # 5 # product_category=^trail running$
xiaohongshu # 咖啡博主 # 8 # topic=咖啡
xiaohongshu # 不在上海的咖啡博主 # 8 # topic=咖啡; city!上海
wechat # skincare, not in Beijing # 6 # topic=skincare; city!Beijing
company # Series B climate tech companies in Amsterdam # 8 # industry=^climate tech$; city=^Amsterdam$; funding_stage=^Series B$
company # logistics companies in Rotterdam founded after 2015 # 8 # industry=^logistics$; city=^Rotterdam$; founded>2015
company # cybersecurity startups in Tel Aviv # 12 # industry=^cybersecurity$; city=^Tel Aviv$
person # product designers in Stockholm # 10 # title=Product Designer$; city=^Stockholm$
person # founders in Lisbon # 12 # title=ounder; city=^Lisbon$
youtube_creator # Spanish cooking channels under 50k subscribers # 10 # topic=cooking$|street food; language=^Spanish$; subscribers<=49999
twitter_creator # German climate accounts on X # 8 # topic=^climate$; language=^German$
tiktok_creator # French skincare creators on TikTok # 8 # topic=^skincare$; language=^French$
instagram_creator # trail running influencers in the UK with fewer than 100k followers on Instagram # 8 # topic=^trail running$; country=^United Kingdom$; followers<=99999
shopify_store # specialty coffee subscriptions # 12 # product_category=^specialty coffee subscriptions$
`;

/** What there is of each of the two Chinese types, in its own words. */
const chinese = ['护肤', '咖啡', '露营', '母婴', '穿搭', '健身', '科技', '旅行']
  .flatMap((topic) => ['xiaohongshu', 'wechat'].map((type) => `${type} # ${topic} # 8 # topic=^${topic} `))
  .join('\n');

/** Nothing fits, and nothing else is passed off as fitting. */
const nothing = `
company # quantum plumbing
company # fintech in Atlantis
company # blockchain startups
company # marketing agencies in London
person # investors
person # investors in Berlin
person # angel investors in fintech in London
shopify_store # teen fashion
tiktok_creator # constructor toString __proto__
`;

describe('an objective finds what it says, and nothing else', () => {
  it.each(rowsOf(`${found.trim()}\n${chinese}`))('%s: %s', async (type, objective, atLeast, facts) => {
    const leads = await find(type, objective);
    const isFit = toFit(facts);
    const odd = leads.filter(({ name, description, facts }) => !isFit({ name, description, ...facts }));
    expect(odd.map(({ name, description, score }) => ({ name, description, score }))).toEqual([]);
    expect(leads.length).toBeGreaterThanOrEqual(Number(atLeast));
  });

  it.each(rowsOf(nothing))('%s: %s finds nothing', async (type, objective) => {
    expect(await find(type, objective)).toEqual([]);
  });
});

/** Nothing has all of it: what has most comes, and says what it lacks. */
const most = `
person # VP of Sales at cybersecurity companies in Atlantis # title=^VP of Sales$; industry=^cybersecurity$ # matches VP of Sales, cybersecurity; lacks Atlantis
person # VP of Sales at dental clinics in New York # title=^VP of Sales$; city=^New York$ # matches VP of Sales, New York; lacks dental clinics
company # Series F fintech in Berlin # industry=^fintech$; city=^Berlin$ # matches fintech, Berlin; lacks Series F
company # quantum fintech in Berlin, not in Munich # industry=^fintech$; city=^Berlin$ # matches fintech, Berlin, not Munich; lacks quantum
`;

it.each(rowsOf(most))('where nothing has all the words, %s: %s', async (type, objective, facts, reason) => {
  const leads = await find(type, objective);
  expect(leads.length).toBeGreaterThan(3);
  expect(leads.filter((lead) => !toFit(facts)(lead.facts))).toEqual([]);
  expect(new Set(leads.map(({ score }) => score.reason))).toEqual(new Set([reason]));
  for (const { score } of leads) expect(Number(score.score)).toBeLessThan(0.7);
});

describe('natural objectives in five languages', () => {
  it('find what fits, 48 of 55 of them; the others find nothing rather than something else', async () => {
    const results: Record<'fits' | 'nothing' | 'odd', string[]> = { fits: [], nothing: [], odd: [] };
    for (const [type, objective, isFit] of naturalObjectives) {
      const leads = (await find(type, objective)).slice(0, 3);
      const fits = leads.every(({ facts }) => isFit?.(facts));
      const result = leads.length === 0 ? 'nothing' : fits ? 'fits' : 'odd';
      results[result].push(objective);
    }
    expect(results.odd).toEqual([]);
    expect(naturalObjectives).toHaveLength(55);
    expect(results.fits.length).toBeGreaterThanOrEqual(48);
    for (const [, objective] of naturalObjectives.filter(([, , isFit]) => isFit === undefined))
      expect(results.nothing).toContain(objective);
  });

  it.each<[EntityType, string]>([
    ['company', 'Startups fintech à Paris'],
    ['company', 'Fintechs para empresas en São Paulo'],
    ['company', 'Fintechs für die Schweiz'],
  ])('%s: %s names no stop word as a match', async (type, objective) => {
    const [lead] = await find(type, objective);
    expect(lead?.score.reason).not.toMatch(/\b(?:para|en|für|die)\b| à/);
    expect(lead?.score.reason).toMatch(/^matches (?:fintech|Fintechs)/);
  });
});

describe('scores', () => {
  const numbersOf = (leads: readonly Found[]) => leads.map(({ score }) => Number(score.score));

  it.each<[EntityType, string]>([
    ['company', 'seed-stage fintech in Berlin'],
    ['company', 'Zahnarztpraxen in Wien'],
    ['person', 'female founders in Lisbon'],
    ['instagram_creator', 'vegan recipes'],
    ['shopify_store', 'running shoes'],
    ['wechat', 'skincare'],
  ])('of %s: %s are spread, the best first', async (type, objective) => {
    const scores = numbersOf(await find(type, objective));
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(Math.max(...scores)).toBeLessThan(1);
    expect(Math.max(...scores) - Math.min(...scores)).toBeGreaterThan(0.1);
    expect(new Set(scores).size).toBeGreaterThan(Math.min(4, scores.length / 2));
  });

  it('are higher for what a lead is than for what it mentions', async () => {
    const leads = await find('company', 'cybersecurity or software');
    const kinds = leads.map(({ facts }) => /cybersecurity|software/.test(facts.industry ?? ''));
    const firstOther = kinds.indexOf(false);
    expect(firstOther).toBeGreaterThan(20);
    expect(numbersOf(leads)[firstOther]).toBeLessThan(Number(leads[0]?.score.score) - 0.15);
  });

  it('name what matched, in the words of the objective', async () => {
    const objective = 'Zahnarztpraxen in Wien, nicht mehr als 20 Mitarbeiter, no orthodontics';
    const [lead] = await find('company', objective);
    expect(lead?.score.reason).toMatch(
      /^matches Zahnarztpraxen, Wien, headcount \d+ \(nicht mehr als 20\), not orthodontics$/,
    );
  });
});

describe('a search that finds nothing', () => {
  it.each(entityTypes)(
    'says what the demonstration knows of %s, and its example finds leads',
    async (type) => {
      hints.length = 0;
      expect(await find(type, 'zzqx kwyjibo')).toEqual([]);
      expect(hints[0]).toMatch(/^The demonstration has no \w+.* that matches\. It has:$/);
      expect(hints.length).toBeGreaterThan(3);
      const example = /^For example: (.+)$/.exec(hints.at(-1) ?? '')?.[1] ?? '';
      hints.length = 0;
      expect((await find(type, example)).length).toBeGreaterThan(1);
      expect(hints).toEqual([]);
    },
  );

  it('is silent where there is nothing to say: all that fits is excluded', async () => {
    hints.length = 0;
    const asked = { objective: 'Nordlicht Pay', dedup_custom_leads: ['Nordlicht Pay'] };
    expect((await service.search(asked)).leads).toEqual([]);
    expect(hints).toEqual([]);
  });
});
