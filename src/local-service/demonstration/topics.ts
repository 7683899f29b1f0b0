import { list, table, twoForms } from './text.ts';

export interface Topic {
  /** Stands before "creator", "channel", "podcast" and the like. */
  readonly label: string;
  /** Stands alone: "books" where the label is "book". */
  readonly subject: string;
  /** Words that names are made of. */
  readonly words: readonly string[];
  /** What a channel on the topic can be, after the label. */
  readonly kinds: readonly string[];
  /** What the posts show; each fits after "about" and "covers". */
  readonly matters: readonly string[];
  readonly audience: string;
}

/** label | words of names | kinds of channel | matters | audience */
export const topics: readonly Topic[] = read(`
climate | Carbon, Climate, Tideline | podcast, explainer channel, documentary channel | interviews with climate scientists; carbon removal; cities adapting to heat waves; energy policy in plain words; the cost of net zero | people who want evidence rather than alarm
home espresso | Espresso, Crema, Portafilter | review channel, tutorial channel | honest reviews of espresso machines; grinders compared side by side; dialling in light roasts; milk texture; repairs of second-hand machines | home baristas with a small kitchen
cooking | Kitchen, Saucepan, Ladle | channel, recipe channel, vlog | weeknight dinners; family recipes from grandparents; knife skills; one-pot stews; market shopping on a budget | people who cook after work
trail running | Trail, Ridgeline, Switchback | vlog, training channel, review channel | race reports from mountain ultras; trail shoes after 500 kilometres; hill training; what to carry overnight; coming back from injury | runners who prefer mud to tarmac
skincare | Barrier, Glow, Serum | review channel, tutorial channel | ingredient labels explained; routines for sensitive skin; sunscreen tests; acne without shame; affordable serums | people tired of ten-step routines
travel | Wayfarer, Nightbus, Postcard | vlog, guide channel, documentary channel | slow train journeys; small towns off season; budgets shown to the cent; border crossings; guesthouses worth the detour | travellers with more time than money
indie game development | Pixel, Sprite, Gamejam | devlog, tutorial channel, podcast | making a game alone; shader tricks; launch numbers; pixel art; playtests that went wrong | hobbyists who want to ship a first game
machine learning | Gradient, Tensor, Overfit | explainer channel, tutorial channel, podcast | papers read line by line; training small models at home; evaluation mistakes; AI agents in production; notebooks with clean code | engineers who moved into AI
personal finance | Ledger, Budget, Pension | podcast, explainer channel, channel | index funds; getting out of debt; pensions for the self-employed; household budgets; renting or buying | people who start saving in their thirties
parenting | Toddler, Bedtime, Playroom | vlog, podcast, channel | sleep regressions; screen-time rules; cheap rainy-day crafts; splitting chores fairly; toddler lunches | tired parents of small children
cycling | Derailleur, Headwind, Crankset | vlog, workshop channel, review channel | gravel bikepacking routes; bike repairs in the kitchen; commuting through winter; tyre tests; climbing passes | riders who repair their own bikes
climbing | Crimp, Belay, Granite | training channel, documentary channel, vlog | finger-strength training; bouldering trips; first ascents; anchors explained; fear of falling | climbers stuck on a plateau
home renovation | Plaster, Floorboard, Scaffold | tutorial channel, vlog | lime plaster; insulating an old house; bathrooms on a budget; wiring mistakes; salvaged doors | owners of houses older than themselves
gardening | Compost, Seedling, Allotment | channel, tutorial channel, podcast | vegetables on a balcony; compost without smell; pruning fruit trees; native hedges; slugs | growers with little space
photography | Shutter, Darkroom, Grain | tutorial channel, review channel, podcast | film cameras; street photography; portraits by window light; editing without presets; photo books | photographers who want fewer lenses
vegan baking | Oatmilk, Crumb, Aquafaba | recipe channel, tutorial channel | egg-free sponge cakes; sourdough; oat-milk custards; birthday cakes; gluten-free loaves | bakers with allergies in the family
second-hand fashion | Thrift, Hemline, Wardrobe | haul channel, tutorial channel, vlog | thrifted outfits; visible mending; vintage denim; capsule wardrobes; fabric labels | students and people leaving fast fashion
yoga | Savasana, Breath, Lotus | class channel, podcast | twenty-minute morning flows; back pain; breathing practice; yoga for runners; beginners' poses | people who sit all day
language learning | Verb, Vocabulary, Accent | lesson channel, podcast | listening practice; irregular verbs; street interviews; reading novels in a second language; exam preparation | self-taught learners
football tactics | Offside, Midfield, Touchline | analysis channel, podcast | pressing traps; set pieces; women's league analysis; youth coaching; match data | fans who watch matches twice
woodworking | Dovetail, Chisel, Workbench | workshop channel, tutorial channel | hand-cut joints; workbench builds; sharpening; small shops; finishing with oil | makers with one garage and no dust extraction
smartphone/smartphones | Pixelbench, Charger, Bezel | review channel, podcast | budget phones after six months; repairability; camera comparisons; battery tests; phones with few distractions | buyers who keep a phone for years
book/books | Bookmark, Chapter, Marginalia | review channel, podcast | translated novels; reading slumps; science fiction; independent bookshops; long biographies | readers who annotate
street food | Skewer, Nightmarket, Tamal | vlog, documentary channel | night markets; noodle stalls; late-night tacos; family-run stalls; regional specialities | eaters who plan trips around lunch
cybersecurity | Packet, Rootshell, Phish | tutorial channel, podcast, explainer channel | breach post-mortems; capture-the-flag walkthroughs; password habits; malware analysis; careers in security | security analysts at the start of a career
electric car/electric cars | Kilowatt, Charger, Torque | review channel, road-trip channel | winter range tests; charging networks; used electric cars; home chargers; long drives with children | drivers thinking about their first electric car
van life | Vanlight, Layby, Campstove | vlog, build channel | van conversions; solar roofs; free overnight spots; working on the road; cooking on one burner | couples saving up for a van
dog training | Leash, Biscuit, Goodboy | channel, tutorial channel, vlog | puppies; recall without treats; rescue dogs; reactive dogs on walks; scent games | first-time dog owners
interior design | Lintel, Lamplight, Rattan | channel, tour channel | small flats; mixing old and new furniture; lighting plans; colour; rentals without drilling | tenants who want a home
fitness | Kettlebell, Tempo, Warmup | training channel, podcast | strength training at home; kettlebell sessions; mobility; training over fifty; protein on a budget | people who quit three gyms
`);

/** Added later, for accounts of their own: nothing else is drawn from these. */
export const laterTopics: readonly Topic[] = read(`
vegan cooking | Chickpea, Tofu, Lentil | recipe channel, vlog | vegan recipes for weeknights; tofu without fear; vegan recipes with five ingredients; plant-based lunch boxes; lentil stews | people who eat fewer animals
`);

function read(text: string): readonly Topic[] {
  return table(text).map((cell) => ({
    label: twoForms(cell(0))[0],
    subject: twoForms(cell(0))[1],
    words: list(cell(1)),
    kinds: list(cell(2)),
    matters: list(cell(3), ';'),
    audience: cell(4),
  }));
}

export interface Voice {
  readonly language: string;
  readonly country: string;
  /** Key of the personal names. */
  readonly naming: string;
  readonly phone: string;
  /** How a page is called after a person, `{f}` being the first name. */
  readonly patterns: readonly string[];
}

/** language | naming | patterns of names | countries. English is the language of about half of the pages. */
const voiceTable = table(`
English | english | | United States; United Kingdom; Australia; Canada; Ireland; New Zealand
English | indian | | India
English | african | | Kenya
Spanish | spanish | El cuaderno de {f}; {f} sin prisa; Lo de {f}; La libreta de {f} | Spain; Mexico; Argentina; Colombia
German | german | {f} notiert; Bei {f}; {f} macht das; {f} ganz ehrlich | Germany; Austria; Switzerland
French | french | {f} prend des notes; Chez {f}; {f} et compagnie; {f} à petits pas | France; Belgium
Portuguese | portuguese | Caderno de {f}; Papo com {f}; {f} sem pressa | Brazil; Portugal
Italian | italian | Il taccuino di {f}; Da {f}; {f} con calma | Italy
Dutch | dutch | Het schrift van {f}; {f} probeert; Bij {f} | Netherlands
Swedish | nordic | {f} antecknar; Hos {f} | Sweden
Polish | polish | Notes: {f}; {f} bez pośpiechu | Poland
Japanese | japanese | {f}のノート; {f}チャンネル; {f}と一緒に | Japan
Korean | korean | {f}의 노트; {f} 채널 | South Korea
`);

export const voices: readonly Voice[] = voiceTable.flatMap((cell) =>
  list(cell(3), ';').map((country) => ({
    language: cell(0),
    country,
    naming: cell(1),
    phone: country === 'United States' || country === 'Canada' ? '+120255501xx' : '',
    patterns: list(cell(2), ';'),
  })),
);
