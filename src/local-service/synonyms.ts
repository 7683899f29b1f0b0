/**
 * Other ways to say the same thing, in English and in German: `what is said, or said = what is searched, too`. What
 * is said stands without accents and in the singular.
 */
const table = `
us, usa, american, america, u.s, u.s.a = united states, usa, us
uk, u.k, british, britain, england, scotland, grossbritannien = united kingdom, uk
uae = united arab emirates
nyc, new york city = new york
sf, bay area, silicon valley = san francisco
german, deutsch, deutsche, deutscher, deutsches, deutschland = germany, german
french, franzosisch, frankreich = france, french
spanish, spanisch, spanien = spain, spanish
italian, italienisch, italien = italy, italian
dutch, hollandisch, niederlande, holland = netherlands, dutch
swedish, schwedisch, schweden = sweden, swedish
swiss, schweizer, schweiz = switzerland
austrian, osterreich, osterreichisch = austria
portuguese, portugiesisch = portugal, portuguese
polish, polnisch, polen = poland, polish
danish, danemark = denmark
finnish, finnland = finland
estonian, estland = estonia
israeli = israel
indian, indien = india
chinese, chinesisch = china, chinese
japanese, japanisch = japan, japanese
korean, korea, sudkorea = south korea, korean
taiwanese = taiwan
canadian, kanada = canada
brazilian, brasilien = brazil
mexican, mexiko = mexico
australian, australien = australia
kenyan, kenia = kenya
irish, irland = ireland
europe, european, europa, eu, europaisch, europaische = germany, austria, switzerland, netherlands, united kingdom, france, portugal, spain, italy, sweden, denmark, finland, estonia, poland, ireland, belgium
dach = germany, austria, switzerland
nordic, nordics, scandinavia, scandinavian, skandinavien = sweden, denmark, finland
asia, asian, asien = japan, south korea, taiwan, singapore, india, china
africa, african, afrika = kenya
latam, latin america, south america, sudamerika = brazil, mexico, argentina, colombia
wien, wiener, vienna = vienna, wien
berliner = berlin
munchen, munchner, muenchen = munich
zuerich, zurcher = zurich
lissabon, lisboa = lisbon
mailand, milano = milan
warschau = warsaw
kopenhagen = copenhagen
tokio = tokyo
singapur = singapore
bangalore = bengaluru

ceo, geschaftsfuhrer, geschaftsfuhrerin = chief executive, ceo, managing partner
cto = chief technology
cfo = chief financial
coo = chief operating
cmo, marketing director, marketingleiter, marketingleiterin, marketingchef = head of marketing, chief marketing
cpo = head of product
vice president = vp
sales director, head of sales, vertriebsleiter, vertriebsleiterin, vertriebschef = vp of sales, head of sales
vertrieb, verkauf = sales
leader, leiter, leiterin = head, director, vp, chief
owner, inhaber, inhaberin = founder, owner, managing partner
founder, cofounder, founded, founding, gegrundet, grunder, grunderin, unternehmer, entrepreneur = founder
engineer, ingenieur = engineer
software engineer, software developer, developer, programmer, entwickler, softwareentwickler = backend engineer, frontend engineer, devops engineer, software engineer
hr manager, human resources, personalleiter, personalchef = head of people, talent acquisition, human resources
recruiter = talent acquisition
produktmanager = product manager
female, woman, women, weiblich, weibliche, frau, frauen = female
male, man, men, mannlich, mannliche, mann, manner = male

early stage, early-stage = seed, preseed
growth stage, growth-stage, late stage, late-stage = series c, series d
ai, ki = artificial intelligence, machine learning, ai
ml = machine learning
it = information technology, software
dentist, dental, dentistry, zahnarzt, zahnarzte, zahnarztin, zahnarztpraxis, zahnarztpraxen, zahnklinik = dental, dentist
lawyer, attorney, solicitor, law office, anwalt, anwalte, rechtsanwalt, kanzlei, kanzleien, anwaltskanzlei = law firm, law
accountant, bookkeeper, tax advisor, tax adviser, steuerberater, buchhalter, steuerkanzlei = accounting firm, accountant
architect, architekt, architekturburo = architecture
brewery, brewer, brauerei = brewery, brewer
agentur, agenturen = agency
designagentur, design studio = design agency
fin tech, financial technology, finanz, finanzen = fintech, finance
health, health tech, health care, healthcare, medtech, med tech, digital health, gesundheit = healthtech, health
insurance, insurance tech, versicherung = insurtech, insurance
real estate, property tech, immobilie = proptech, real estate
climatetech, cleantech, clean tech, greentech, green tech, clean energy, green energy, renewable energy, renewable, klima, sustainability, nachhaltigkeit = climate tech, climate, renewable
cyber, cyber security, it security, information security, it-sicherheit, cybersicherheit = cybersecurity
education, ed tech, education technology, bildung = edtech, education
agriculture, ag tech, agtech, farming, landwirtschaft = agritech, agriculture
food tech, lebensmittel = foodtech, food
legaltech = legal tech
traveltech, tourism = travel tech, tourism
hrtech = hr tech
adtech, ad tech, advertising, werbung = martech, advertising
spacetech, aerospace, raumfahrt = space tech, aerospace
contech, bau = construction tech
ecommerce, onlinehandel = e commerce
game, video game, spiel, videospiel = gaming, game
robotik, robot, roboter = robotics
chip, chipmaker, halbleiter = semiconductor, chip
logistik, shipping, freight, spedition = logistics, freight
mobilitat = mobility
biotechnology, biotechnologie = biotech

recipe, rezept = recipe, cooking, baking
koch, kochen = cooking
cooking, food, foodie, essen = cooking, food
backen = baking
vegan = plant based, vegan
vegetarian, vegetarisch = vegan, plant based
fashion, clothing, clothes, outfit, mode, kleidung = fashion, clothing, clothes, apparel, denim, swimwear
beauty, cosmetic, makeup, kosmetik, hautpflege = skincare, beauty
laufen, jogging, marathon = running
laufschuhe = running shoes
schuhe = shoes
gym, workout, sport = fitness, training
reise, reisen = travel
buch, bucher, reading, lesen = book
pflanze, zimmerpflanze, plant = plant, houseplant
garten = gardening
fotografie, photographer = photography
hund = dog
katze = cat
kaffee = coffee
roaster, rosterei = roasters, coffee roasted
tee = tea
wein = wine
schmuck, jewelry, jewelery = jewellery
mobel = furniture
bike, bicycle, fahrrad, radfahren = cycling, bike
hiking, hiker, wandern = hiking, hiker, trail
camper, campen = camping
candle, kerze = candle
tech, technology, gadget, technik = smartphone, tech
diy, heimwerken = home renovation, woodworking
elektroauto, ev = electric car
parent, mom, mum, eltern = parenting, parents
nachhaltig, nachhaltige = sustainable
`;

/** Reads lines of `said, or said = searched, too`. `toSaid` makes of a word what it is looked up by. */
export function readSynonyms(
  text: string,
  toSaid: (word: string) => string,
): ReadonlyMap<string, readonly string[]> {
  const lines = text.trim().split(/\n+/);
  return new Map(
    lines.flatMap((line) => {
      const [said = '', searched = ''] = line.split('=').map((side) => side.trim());
      return said.split(', ').map((word) => [toSaid(word), searched.split(', ')] as const);
    }),
  );
}

const meanings = readSynonyms(table, toKey);

/** What else a word or a few may mean, in the singular or the plural. */
export function meaningsOf(lower: string): readonly string[] {
  const key = toKey(lower);
  const exact = meanings.get(key);
  if (exact !== undefined) return exact;
  const shorter = [/ie$/, /e$/, /n$/, /en$/, /innen$/].map((ending, at) =>
    key.replace(ending, at === 0 ? 'y' : ''),
  );
  // What is left of a short word may be anything: "teens" are no tea.
  return meanings.get(shorter.find((word) => word.length > 3 && meanings.has(word)) ?? '') ?? [];
}

/** Without accents, and each word without an s at its end: "heads of sales" is "head of sale". */
export function toKey(lower: string): string {
  return withoutAccents(lower).replace(/(?<=\p{L}{3})s(?!\p{L})/gu, '');
}

export function withoutAccents(lower: string): string {
  return lower.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('ß', 'ss');
}
