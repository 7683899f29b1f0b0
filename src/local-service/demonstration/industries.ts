import { list } from './text.ts';

/** One thing a company of an industry may do: what it makes and for whom belong together. */
export interface Niche {
  readonly focus: string;
  readonly model: string;
  readonly product: string;
  readonly customers: string;
}

export interface Industry {
  /** Stands before "company" or, for local businesses, alone: "fintech", "dental clinic". */
  readonly label: string;
  /** Last words of company names. */
  readonly words: readonly string[];
  /** Titles of those who work in a local business; none for others. */
  readonly localTitles: readonly string[];
  readonly niches: readonly Niche[];
}

/** `# label | words of names | titles`, then a niche a line: `focus | business model | product | customers`. */
function read(text: string): ReadonlyMap<string, Industry> {
  const industries = list(text, '\n#').map((section) => {
    const [head = '', ...lines] = list(section.replace(/^#/, ''), '\n');
    const [label = '', words = '', titles = ''] = head.split('|').map((cell) => cell.trim());
    const niches = lines.map((line) => {
      const [focus = '', model = '', product = '', customers = ''] = list(line, '|');
      return { focus, model, product, customers };
    });
    return { label, words: list(words), localTitles: list(titles, ';'), niches };
  });
  return new Map(industries.map((industry) => [industry.label, industry]));
}

export const ventureIndustries = read(`
# fintech | Pay, Ledger, Finance, Capital, Treasury, Wallet
invoice payments | B2B SaaS | a payments platform that settles invoices the same day | freelancers and small agencies
business banking | B2B SaaS | a business account with bookkeeping and tax set-asides built in | freelancers and sole traders
SME lending | lending | revenue-based credit lines decided within an hour | SMEs and online merchants
spend management | B2B SaaS | company cards with live expense controls | finance teams at mid-sized firms
retail investing | B2C app | a savings and investing app with automatic round-ups | first-time investors
open banking | API | an open-banking API for account checks and instant payouts | lenders and marketplaces
# insurtech | Cover, Assure, Insurance, Shield
embedded cover | B2B2C | an insurance API that adds cover at checkout | online retailers and ticket sellers
claims automation | B2B SaaS | software that reads claim photos and proposes a settlement | motor and home insurers
small-business cover | brokerage | pay-as-you-go liability insurance | tradespeople and small shops
health insurance | B2C app | a digital health insurance plan with video consultations | self-employed families
# climate tech | Carbon, Energy, Grid, Climate, Heat
carbon accounting | B2B SaaS | carbon accounting software that measures scope 3 emissions | manufacturers and food producers
home electrification | installation | heat pumps and rooftop solar on a monthly plan | homeowners and housing associations
energy storage | hardware | second-life battery storage for peak shaving | factories and charging-site operators
carbon removal | project development | biochar-based carbon removal credits with satellite monitoring | companies with net-zero targets
grid flexibility | B2B SaaS | a virtual power plant that shifts demand to windy hours | utilities and cold stores
# AI infrastructure | Compute, Inference, Tensor, Models, Vector
GPU orchestration | usage-based cloud | a GPU scheduler that keeps training clusters full | machine-learning platform teams
inference serving | usage-based cloud | low-latency inference for open-weight language models | product teams that ship AI features
vector search | open core | a vector database for retrieval over private documents | enterprise search teams
model evaluation | B2B SaaS | an evaluation and tracing suite for AI agents | teams that run language models in production
training data | B2B services | a labelling and synthetic-data pipeline for AI models | computer-vision and speech teams
# cybersecurity | Security, Sentinel, Defense, Cipher, Vault
cloud security | B2B SaaS | agentless cloud security that ranks exposures by attack path | security teams in regulated companies
identity security | B2B SaaS | identity threat detection for service accounts | banks and hospitals
application security | B2B SaaS | code scanning that opens the fix as a pull request | software engineering teams
security training | B2B SaaS | phishing simulations that adapt to each employee | companies without a security department
industrial security | appliance | passive monitoring of industrial control networks | water utilities and plant operators
# healthtech | Health, Care, Clinic, Medica
remote monitoring | B2B SaaS | remote patient monitoring for heart failure | hospitals and cardiology practices
mental health | B2C app | video therapy with a match in two days | adults on long waiting lists
clinical documentation | B2B SaaS | a scribe that drafts clinical notes during the consultation | general practitioners
women's health | B2C app | at-home hormone tests with a care plan | women with fertility questions
hospital operations | B2B SaaS | theatre scheduling software that cuts cancelled operations | public hospitals and surgical centres
# biotech | Bio, Therapeutics, Genomics, Labs
cell therapy | drug development | off-the-shelf cell therapies for autoimmune disease | patients with lupus and their clinicians
protein design | platform | a protein design platform with an automated wet lab | pharmaceutical research groups
diagnostics | diagnostics | a blood test that finds pancreatic cancer early | oncology centres
lab automation | B2B SaaS | cloud software that runs liquid-handling experiments | academic and industrial laboratories
# logistics | Logistics, Freight, Cargo, Fulfilment
freight forwarding | B2B services | digital freight forwarding with one quote for sea, rail and road | importers and exporters
port operations | B2B SaaS | berth and container planning software | port terminals and barge operators
warehouse automation | B2B SaaS | a warehouse system with pick routes that re-plan themselves | third-party fulfilment centres
last-mile delivery | B2B services | last-mile delivery by cargo bike | grocers and online shops
cold chain | hardware | temperature loggers and lane analytics for cold-chain shipments | pharmaceutical and fresh-food shippers
# mobility | Mobility, Motion, Drive, Transit
shared bikes | B2C subscription | e-bike subscriptions with repairs included | commuters and employers
fleet charging | B2B SaaS | charging management for electric vans | delivery fleets and councils
public transport | B2G | on-demand minibuses that connect to rail stations | regional transport authorities
battery health | B2B SaaS | battery health certificates for used electric cars | dealers and leasing companies
# edtech | Learning, Campus, Academy, Study
classroom tools | B2B SaaS | a homework platform that shows teachers who is stuck | secondary schools
language learning | B2C app | conversation practice with instant pronunciation feedback | adults learning a second language
workforce training | B2B SaaS | short courses for shift workers on their phones | retailers and care homes
tutoring | marketplace | online maths tutoring in groups of three | families with exam-year teenagers
# HR tech | People, Talent, Hiring, Payroll
payroll | B2B SaaS | payroll and contracts for remote employees | companies hiring across borders
recruiting | B2B SaaS | structured interview software with skills tests | recruiting teams
shift planning | B2B SaaS | shift planning that respects rest rules | restaurants and care providers
employee benefits | B2B2C | one benefits card for lunch, transport and wellbeing | employers of up to 500 people
# proptech | Homes, Property, Estates, Spaces
rental management | B2B SaaS | rental management software for leases, repairs and rent | private landlords
office space | marketplace | flexible office leases by the month | growing teams without a fixed desk count
home buying | B2C service | a home-buying service with fixed fees and online viewings | first-time buyers
building operations | B2B SaaS | sensors and software that tune heating room by room | owners of office buildings
# martech | Reach, Audience, Signal, Brandworks
creator marketing | B2B SaaS | creator campaign software with contracts and payouts | consumer brands
attribution | B2B SaaS | cookieless attribution for paid media | performance marketing teams
customer data | B2B SaaS | a customer data platform that runs in the client's own warehouse | retail and media groups
email marketing | B2B SaaS | lifecycle email with copy tested per segment | subscription businesses
# legal tech | Legal, Counsel, Clause, Docket
contract review | B2B SaaS | contract review that marks risky clauses against a playbook | in-house legal teams
company formation | B2C service | fixed-price company formation and cap tables | first-time founders
compliance tracking | B2B SaaS | a tracker that turns new regulation into tasks | compliance officers
# foodtech | Foods, Kitchen, Harvest, Proteins
alternative protein | consumer goods | mycelium-based fillets | supermarkets and canteens
restaurant software | B2B SaaS | ordering and stock software that predicts tomorrow's covers | independent restaurants
food waste | marketplace | an app that sells surplus meals before closing time | bakeries and students
fermentation | ingredients | animal-free milk proteins made by fermentation | cheese makers and dairies
# agritech | Agro, Fields, Crop, Soil
crop monitoring | B2B SaaS | field maps from drones and satellites that spot disease early | grain and potato growers
farm robotics | hardware | a weeding robot that replaces herbicide | organic vegetable farms
smallholder finance | marketplace | seeds, advice and harvest-time credit over text message | smallholder farmers
irrigation | hardware | soil probes and valves that water by the root | vineyards and orchards
# gaming | Games, Interactive, Playworks, Arcade
mobile games | B2C free-to-play | cosy puzzle games for mobile | players who have ten minutes
PC games | B2C premium | co-operative survival games for PC | friends who play together
game tools | B2B SaaS | live-operations tooling for multiplayer games | independent game studios
# robotics | Robotics, Automata, Dynamics, Actuators
warehouse robots | hardware | mobile picking robots rented by the hour | parcel hubs
surgical robots | medical devices | a compact robot arm for keyhole surgery | teaching hospitals
inspection robots | hardware | crawling robots that inspect boilers and pipes | refineries and shipyards
collaborative robots | hardware | collaborative arms that workers teach by hand | small metalworking shops
# semiconductor | Silicon, Micro, Photonics, Chips
edge processors | fabless | low-power edge processors for always-on vision | camera and appliance makers
photonics | fabless | optical interconnects between accelerator boards | data-centre builders
power electronics | hardware | gallium-nitride power chips | charger and inverter makers
chip design software | software licence | verification software for analogue chip designs | chip design houses
# space tech | Orbital, Space, Satellites, Aero
earth observation | data subscription | thermal satellite images refreshed every few hours | wildfire services and insurers
small launch | launch services | a small launcher for shared rides to orbit | university satellite teams
satellite software | B2B SaaS | mission control software for small constellations | satellite operators
# developer tools | Dev, Stack, Runtime, Build
observability | open core | tracing and log search priced by the query | backend engineering teams
continuous integration | usage-based cloud | build machines that reuse work between branches | teams with large monorepos
internal tools | B2B SaaS | a builder for admin panels on top of existing databases | operations engineers
API tooling | open core | contract tests and mock servers made from API traffic | API platform teams
# e-commerce software | Commerce, Cart, Retail, Checkout
returns | B2B SaaS | a returns portal that turns refunds into exchanges | fashion brands
product search | B2B SaaS | product search that understands synonyms and sizes | online shops with large assortments
cross-border selling | B2B SaaS | tax, customs and local checkout in one plug-in | merchants that sell abroad
inventory planning | B2B SaaS | demand forecasts and purchase orders | direct-to-consumer brands
# travel tech | Travel, Journeys, Stay, Voyages
business travel | B2B SaaS | business travel booking with automatic expense reports | companies with travelling staff
hotel software | B2B SaaS | a front-desk system that runs on a tablet | independent hotels and hostels
rail booking | B2C app | cross-border rail tickets on one screen | travellers who avoid flying
# construction tech | Construct, Beam, Site, Structures
site management | B2B SaaS | site diaries and defect tracking that work offline | general contractors
modular building | manufacturing | timber modules for mid-rise housing | housing developers
materials reuse | marketplace | a marketplace for reclaimed bricks, steel and timber | architects and demolition firms
`);

export const localIndustries = read(`
# dental clinic | Dental, Dental Care, Smiles, Family Dentistry | Practice Manager; Lead Dentist; Dental Hygienist
family dentistry | local services | check-ups, fillings and hygiene visits with evening hours | families and nervous patients
orthodontics | local services | braces and clear aligners with monthly payment plans | teenagers and adults
implant dentistry | local services | dental implants and same-day crowns | patients with missing teeth
# architecture studio | Architects, Architecture, Atelier | Managing Partner; Project Architect; Office Manager
timber housing | local services | low-energy timber homes and careful extensions | private clients and co-operatives
adaptive reuse | local services | conversions of old warehouses into workplaces | cultural institutions and developers
# accounting firm | Accountants, Bookkeeping, Tax Partners | Managing Partner; Senior Accountant; Office Manager
owner-managed businesses | local services | bookkeeping, annual accounts and tax returns | restaurants, trades and small shops
cross-border tax | local services | tax advice for expatriates and remote workers | people who moved countries
# craft brewery | Brewing, Brewery, Brewhouse | Founder; Head Brewer; Taproom Manager
pale ales | local manufacturing | hazy pale ales and a rotating sour | neighbourhood bars and bottle shops
alcohol-free beer | local manufacturing | alcohol-free lagers with real hop character | restaurants and people cutting down
# law firm | Law, Solicitors, Advocates | Managing Partner; Senior Associate; Office Manager
employment law | local services | employment contracts and dispute advice | employees and small employers
immigration law | local services | work visas and residence permits | skilled workers and their families
# design agency | Design, Studio, Creative | Creative Director; Product Designer; Studio Manager
brand identity | local services | brand identities and packaging | food makers and museums
digital product design | local services | product design sprints and accessible web sites | public bodies and young companies
`);
