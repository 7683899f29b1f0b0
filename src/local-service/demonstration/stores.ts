import type { CatalogueEntity } from '../catalogue-entity.ts';
import { inventBusiness } from './names.ts';
import { countryInText, type Place, phoneIn, placeInText, places } from './places.ts';
import { Random } from './random.ts';
import { capitalised, fill, list, lookUp, rounded, table, twoForms, UniqueNames } from './text.ts';

interface Category {
  readonly label: string;
  /** Stands alone: "board games" where the label is "board game". */
  readonly things: string;
  readonly words: readonly string[];
  readonly products: readonly string[];
  readonly customers: readonly string[];
  /** What the shop prides itself on; stands after "It". */
  readonly pride: string;
  /** Dollars. */
  readonly order: readonly [number, number];
}

/** label | words of names | products | customers | pride | average order */
const categories: readonly Category[] = table(`
trail running | Trail, Trail Supply, Ridge Running | trail running shoes and gaiters; hydration vests and soft flasks; ultralight shells and poles for ultra distances; headlamps and technical socks for night runs | mountain and ultra runners; weekend trail runners | lets customers return shoes after one muddy run | 70-180
sustainable skincare | Botanics, Skin, Soins | refillable face creams; plant-based serums and cleansing oils; plastic-free soap and solid shampoo; certified organic balms for sensitive skin | people with sensitive skin; shoppers who want low-waste care | takes back empty jars and publishes every ingredient's origin | 30-85
specialty coffee subscription/specialty coffee subscriptions | Coffee, Roasters, Coffee Club | single-origin beans roasted each Monday; a monthly coffee subscription with tasting notes; espresso and filter roasts from small farms | home baristas; offices and remote teams | pays farmers well above the market price | 18-55
loose-leaf tea | Tea, Tea House, Infusions | loose-leaf oolong and green teas; herbal infusions and teapots | tea drinkers who read labels; gift buyers | buys directly from gardens | 22-60
handmade ceramics | Ceramics, Pottery, Clay | hand-thrown mugs and dinner plates; stoneware vases and planters | restaurants and people who set a table; newly-weds | fires every piece in its own kiln | 45-150
organic baby clothes | Baby, Little Ones, Kids | organic cotton baby clothes; wool-silk layers for newborns | new parents; grandparents looking for gifts | buys outgrown pieces back | 35-95
cycling apparel | Cycling, Velo, Wheels | bib shorts and merino jerseys; bikepacking bags and rain capes | gravel riders; commuters | repairs crash damage free of charge | 80-210
yoga and pilates gear | Yoga, Mat, Movement | natural rubber mats and cork blocks; leggings in recycled nylon | home practitioners; studio owners | repairs worn mats by post | 40-110
vegan supplement/vegan supplements | Nutrition, Greens, Vitals | vegan protein and omega-3 capsules; vitamin D and B12 drops | vegan athletes; people on a plant-based diet | prints lab results on every tub | 30-80
pet food | Pets, Paws, Bowl | fresh dog food portioned by weight; grain-free cat food and chews | dog owners in cities; owners of picky cats | employs its own veterinary nutritionist | 35-90
houseplant/houseplants | Plants, Greenhouse, Foliage | rare houseplants shipped in winter packaging; pots, soil mixes and grow lights | plant collectors; people with dark flats | replaces plants that arrive unhappy | 28-80
minimalist jewellery | Jewellery, Gold, Goldsmiths | recycled gold rings and ear cuffs; engraved pendants | brides and gift buyers; women who buy for themselves | melts down old pieces in part payment | 70-320
second-hand denim | Denim, Vintage, Jeans | graded vintage jeans; repaired denim jackets | students; people leaving fast fashion | measures every pair by hand | 45-110
board game/board games | Boardgames, Meeples, Tabletop | co-operative board games; two-player card games and sleeves | families; hobby gamers | tests each title with regulars before it sells it | 35-90
natural wine/natural wines | Wines, Cellar, Vins | natural wines from small growers; mixed cases chosen by a sommelier | curious wine drinkers; dinner hosts | answers questions about every bottle by message | 60-170
craft chocolate | Chocolate, Cacao, Cocoa | bean-to-bar chocolate; drinking chocolate and gift boxes | gift buyers; people who like dark chocolate | names the farm on each wrapper | 25-70
camping gear | Outdoors, Camp, Basecamp | two-person tents and quilts; titanium stoves and cook sets | hikers; families who camp | rents tents before it sells them | 75-260
climbing equipment | Climbing, Crag, Vertical | climbing shoes and chalk bags; ropes, slings and quickdraws | boulderers; sport climbers | resoles shoes in its own workshop | 60-170
home office furniture | Workspace, Desk, Homework | height-adjustable oak desks; ergonomic chairs and monitor arms | remote workers; small companies | delivers everything assembled | 190-690
bed linen | Linen, Sleep, Home | stonewashed linen bedding; percale sheets and wool duvets | light sleepers; guesthouse owners | cuts to odd mattress sizes | 90-260
scented candle/scented candles | Candles, Wax, Scents | soy candles poured in small batches; reed diffusers and refills | gift buyers; people who furnish slowly | refills glasses by post | 25-70
men's grooming | Grooming, Barber, Shave | safety razors and shaving soap; beard oil and hair clay | men who shave slowly; barbershops | guarantees razors for life | 28-75
art print/art prints | Prints, Editions, Poster | risograph prints by living illustrators; framed posters in limited editions | first-time art buyers; interior designers | pays artists half of every sale | 35-140
hot sauce/hot sauces | Sauces, Chilli, Heat | fermented hot sauces; chilli oils and spice rubs | people who carry a bottle; barbecue cooks | grows its own chillies | 20-55
sustainable swimwear | Swim, Tide, Swimwear | swimsuits made of recycled fishing nets; one-piece suits for lap swimmers | open-water swimmers; holiday makers | repairs straps and linings | 60-140
mechanical keyboard/mechanical keyboards | Keys, Keyboards, Switchworks | mechanical keyboard kits and switches; keycap sets and coiled cables | programmers; collectors | lets visitors try a switch tester at home | 65-240
children's books | Books, Stories, Pages | picture books in two languages; activity books and puzzles | bilingual families; schools | wraps and writes cards by hand | 22-60
fishing tackle | Angling, Tackle, Rivers | fly rods and hand-tied flies; waders and reels | fly fishers; beginners with a licence | teaches casting on Saturdays | 55-230
`).map((cell) => {
  const [low = 0, high = 0] = cell(5).split('-').map(Number);
  return {
    label: twoForms(cell(0))[0],
    things: twoForms(cell(0))[1],
    words: list(cell(1)),
    products: list(cell(2), ';'),
    customers: list(cell(3), ';'),
    pride: cell(4),
    order: [low, high],
  };
});

const categoryByLabel = new Map(categories.map((category) => [category.label, category]));

/** category | country, or any | how many */
const clusters = table(`
trail running | | 20
sustainable skincare | France | 12
specialty coffee subscription | | 10
`);

const openings = list(
  `
Shopify store for {things}, run from {place}. It sells {product} to {customers}.
{name} is an online {category} shop from {place}, selling {product} through Shopify. Typical customers: {customers}.
Online {category} store on Shopify. From a small warehouse in {place}, {name} ships {product} for {customers}.
A(n) {category} brand with its own Shopify shop in {theCountry}: {product}, packed in {city} for {customers}.
Independent {category} shop: {product}. Made for {customers}, dispatched from {place}, and sold through Shopify.
`,
  '\n',
);

const details = list(
  `
It {pride}. Delivery to {reach}.
Around {visits} visits a month; orders go to {reach}.
The shop {pride}. The average order is about \${order}.
Delivery to {reach}; roughly {visits} people visit each month.
`,
  '\n',
);

const farther: Readonly<Record<string, readonly string[]>> = {
  'United States': ['the United States and Canada'],
  Canada: ['Canada and the United States'],
  Brazil: ['South America'],
  Mexico: ['Mexico and Central America'],
  Kenya: ['East Africa'],
  Israel: ['Israel and Cyprus'],
  India: ['India and the Gulf states'],
  Australia: ['Australia and New Zealand'],
};
const european =
  /^(?:Germany|Switzerland|Netherlands|United Kingdom|France|Portugal|Spain|Sweden|Denmark|Finland|Estonia|Poland|Italy)$/;

function reachOf(country: string, random: Random): string {
  if (random.chance(0.35)) return `${countryInText(country)} only`;
  if (random.chance(0.15)) return 'customers worldwide';
  return random.pick(
    farther[country] ?? (european.test(country) ? ['all of Europe', 'the whole EU'] : ['Asia and Australia']),
  );
}

export function* makeStores(total: number): Generator<CatalogueEntity> {
  const random = new Random('stores');
  const names = new UniqueNames();
  let made = 0;
  for (const cluster of clusters) {
    const fitting = places.filter(({ country }) => cluster(1) === '' || country === cluster(1));
    for (let count = Number(cluster(2)); count > 0; count--) {
      made++;
      yield compose(lookUp(categoryByLabel, cluster(0)), random.pick(fitting), names, random);
    }
  }
  for (; made < total; made++) yield compose(random.pick(categories), random.pick(places), names, random);
}

function compose(category: Category, place: Place, names: UniqueNames, random: Random): CatalogueEntity {
  const { name, site } = inventBusiness(names, place, category.words, random);
  const handle = site.replaceAll('-', '_');
  const visits = random.magnitude(1200, 420_000);
  const order = random.integer(...category.order);
  const reach = reachOf(place.country, random);
  const product = random.pick(category.products);
  const values = {
    name,
    category: category.label,
    things: category.things,
    product,
    customers: random.pick(category.customers),
    pride: category.pride,
    city: place.city,
    place: placeInText(place),
    theCountry: countryInText(place.country),
    reach,
    visits: rounded(visits),
    order,
  };
  return {
    entity_type: 'shopify_store',
    entity: {
      name,
      links: {
        website: `https://${site}.example`,
        ...(random.chance(0.6) && { instagram_url: `https://instagram.example/${handle}` }),
        ...(random.chance(0.25) && { tiktok_url: `https://tiktok.example/@${handle}` }),
      },
      description: `${fill(random.pick(openings), values)} ${fill(random.pick(details), values)}`,
    },
    facts: {
      platform: 'Shopify',
      product_category: category.things,
      products: capitalised(product),
      customers: values.customers,
      city: place.city,
      country: place.country,
      monthly_visits: visits,
      average_order_value: order,
      sells_to: reach.replace(/ only$/, ''),
    },
    contact: {
      email: random.chance(0.7) ? `${random.pick(['hello', 'shop', 'orders'])}@${site}.example` : null,
      phone: random.chance(0.4) ? phoneIn(place.phone, random) : null,
    },
  };
}
