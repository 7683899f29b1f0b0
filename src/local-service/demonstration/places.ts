import type { Random } from './random.ts';
import { list, lookUp, table } from './text.ts';

export interface Place {
  readonly city: string;
  readonly country: string;
  /** Key of `namings`. */
  readonly naming: string;
  readonly language: string;
  /** `x` is a digit. */
  readonly phone: string;
  readonly industries: readonly string[];
}

// Only ranges that regulators keep for fiction (+1 … 555 01xx, Ofcom, Bundesnetzagentur, Arcep, PTS, ACMA).
// Countries without one borrow +44 1632 960xxx, which belongs to no place.
const borrowed = '+441632960xxx';

export const places: readonly Place[] = read(`
Berlin | Germany | german | German | +493023125xxx | fintech, climate tech, mobility, HR tech
Munich | Germany | german | German | +498999998xxx | robotics, AI infrastructure, space tech, insurtech
Hamburg | Germany | german | German | +494066969xxx | logistics, gaming, martech, foodtech
Zürich | Switzerland | german | German | | insurtech, robotics, biotech, fintech
Amsterdam | Netherlands | dutch | Dutch | | climate tech, e-commerce software, travel tech, developer tools
Rotterdam | Netherlands | dutch | Dutch | | logistics, construction tech, climate tech, agritech
London | United Kingdom | english | English | +442079460xxx | fintech, healthtech, insurtech, legal tech
Manchester | United Kingdom | english | English | +441614960xxx | e-commerce software, gaming, cybersecurity, martech
Paris | France | french | French | +3319900xxxx | AI infrastructure, fintech, HR tech, foodtech
Lyon | France | french | French | +33465710xxx | biotech, robotics, healthtech, mobility
Lisbon | Portugal | portuguese | Portuguese | | travel tech, developer tools, proptech, edtech
Porto | Portugal | portuguese | Portuguese | | martech, mobility, e-commerce software, HR tech
Madrid | Spain | spanish | Spanish | | proptech, travel tech, legal tech, edtech
Barcelona | Spain | spanish | Spanish | | mobility, gaming, healthtech, foodtech
Stockholm | Sweden | nordic | Swedish | +46846500 4xx | gaming, fintech, climate tech, edtech
Copenhagen | Denmark | nordic | Danish | | foodtech, climate tech, biotech, legal tech
Helsinki | Finland | finnish | Finnish | | gaming, space tech, edtech, construction tech
Tallinn | Estonia | finnish | Estonian | | cybersecurity, legal tech, fintech, logistics
Warsaw | Poland | polish | Polish | | developer tools, cybersecurity, e-commerce software, HR tech
Milan | Italy | italian | Italian | | martech, insurtech, e-commerce software, proptech
Tel Aviv | Israel | israeli | Hebrew | | cybersecurity, AI infrastructure, semiconductor, agritech
San Francisco | United States | english | English | +141555501xx | AI infrastructure, developer tools, fintech, biotech
New York | United States | english | English | +121255501xx | fintech, martech, proptech, legal tech
Austin | United States | english | English | +151255501xx | semiconductor, e-commerce software, HR tech, developer tools
Boston | United States | english | English | +161755501xx | biotech, robotics, healthtech, edtech
Chicago | United States | english | English | +131255501xx | insurtech, logistics, foodtech, fintech
Toronto | Canada | english | English | +141655501xx | AI infrastructure, healthtech, HR tech, cybersecurity
São Paulo | Brazil | portuguese | Portuguese | | fintech, agritech, logistics, e-commerce software
Mexico City | Mexico | spanish | Spanish | | fintech, logistics, proptech, edtech
Singapore | Singapore | taiwanese | Mandarin | | logistics, fintech, climate tech, travel tech
Tokyo | Japan | japanese | Japanese | | robotics, gaming, semiconductor, mobility
Seoul | South Korea | korean | Korean | | gaming, semiconductor, martech, edtech
Taipei | Taiwan | taiwanese | Mandarin | | semiconductor, robotics, AI infrastructure, mobility
Bengaluru | India | indian | Hindi | | developer tools, edtech, space tech, healthtech
Sydney | Australia | english | English | +6125550xxxx | proptech, agritech, construction tech, travel tech
Nairobi | Kenya | african | Swahili | | agritech, fintech, logistics, climate tech
`);

/** Places of the leads that were added later; nothing is drawn from them, so that the leads before stay as they are. */
const laterPlaces = read(`
Vienna | Austria | german | German | | climate tech, mobility, legal tech, biotech
`);

function read(text: string): readonly Place[] {
  return table(text).map((cell) => ({
    city: cell(0),
    country: cell(1),
    naming: cell(2),
    language: cell(3),
    phone: (cell(4) || borrowed).replaceAll(' ', ''),
    industries: list(cell(5)),
  }));
}

const placeByCity = new Map([...places, ...laterPlaces].map((place) => [place.city, place]));

export function placeOf(city: string): Place {
  return lookUp(placeByCity, city);
}

export function phoneIn(pattern: string, random: Random): string {
  return pattern.replace(/x/g, () => String(random.integer(0, 9)));
}

/** For pages without a place of their own. */
export function phoneAnywhere(random: Random): string {
  return phoneIn(borrowed, random);
}

/** `Berlin, Germany`; a city state once. */
export function placeInText({ city, country }: Place): string {
  return city === country ? city : `${city}, ${country}`;
}

/** The country as it stands inside a sentence. */
export function countryInText(country: string): string {
  return /^(?:United|Netherlands)/.test(country) ? `the ${country}` : country;
}
