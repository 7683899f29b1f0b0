import type { Place } from './places.ts';
import type { Random } from './random.ts';
import { list, lookUp, slug, table, type UniqueNames } from './text.ts';

/** Personal names, and invented stems for the names of companies and shops, of one part of the world. */
interface Naming {
  readonly first: readonly string[];
  readonly last: readonly string[];
  readonly stems: readonly string[];
}

// A name of the form Latin:native also has a native spelling.
const namings: ReadonlyMap<string, Naming> = new Map(
  table(`
german | Annika,Jonas,Lena,Felix,Miriam,Tobias,Franziska,Moritz,Katharina,Jürgen,Svenja,Matthias,Leonie,Henrik,Ulrike,Björn,Carla,Till | Keller,Brandhofer,Vogt,Hartwig,Seidel,Reuter,Böhmert,Kühn,Winkler,Ahrens,Lorenzen,Dörfler,Petersen,Rausch,Zimmer,Grünwald,Behrens,Falkner | Nordlicht,Silberfeld,Kranichen,Morgentau,Lindhof,Eichwald,Sternkai,Blauspecht,Havelbogen,Kupferhain,Wolkentor,Tannwerk,Federkiel,Spreewerft,Grünspan,Möwenhall
dutch | Sanne,Daan,Femke,Bram,Lotte,Jeroen,Anouk,Thijs,Marieke,Ruben,Fleur,Wouter,Iris,Sander | van Dalen,de Wit,Bakkerink,Hoekstra,Mulder,van Leeuwen,Dijkstra,Vermeer,Kuipers,Postma,van der Veen,Schouten,Brouwer,Zijlstra | Zeewind,Polderlicht,Grachtwerk,Duinroos,Maasvogel,Tulpveld,Waterlingen,IJsvonk,Kadewind,Molenstroom,Havenrik,Wilgenpad,Noorderdok,Rietsluis
english | Amelia,Marcus,Priya,Owen,Grace,Theo,Naomi,Callum,Hannah,Darius,Imogen,Wesley,Leila,Connor,Maya,Elliot,Tessa,Rohan,Bethany,Julian,Keisha,Nathan,Sophie,Andre,Claire,Malik,Jenna,Victor,Abigail,Simon,Rosa,Graham | Ashgrove,Bellamy,Calloway,Draper,Ellison,Fairchild,Garrity,Holloway,Ingleby,Kapoor,Lathrop,Mercer,Norwood,Okafor,Pemberton,Quigley,Ramirez,Sinderby,Thorne,Underhill,Vance,Whitlock,Yarrow,Nguyen,Baptiste,Delgado,Hargrove,Linfield,Osei,Trask,Wexler,Castellan | Tarnwick,Copperlark,Fernhollow,Greywren,Ashbeam,Larkhaven,Stonequill,Brightmoor,Oxbowe,Harrowfen,Emberlow,Driftwell,Thistlecombe,Pinefall,Cobaltry,Merrowgate,Foxglen,Juniperly,Wickersham,Ravensby,Saltreed,Maplewick,Hollowbrook,Cinderpath
french | Camille,Théo,Élodie,Baptiste,Manon,Rémi,Inès,Gaspard,Clémence,Hugo,Noémie,Adrien,Léa,Maxence | Delacourt,Marchetti,Lefèvre,Rousselin,Garnier,Beaumont,Chevrier,Faure,Montclair,Périer,Vasseur,Lambertin,Aubry,Desroches | Clairval,Hirondine,Boisrosé,Lumérac,Valmarin,Étoilac,Sauterive,Belorme,Mirandelle,Aubépin,Cressonne,Pierrelune,Vermeline
spanish | Lucía,Álvaro,Marta,Iñaki,Ximena,Rodrigo,Paula,Sergio,Valeria,Emilio,Noelia,Andrés,Carmen,Joaquín | Ibáñez,Quiroga,Navarro,Salcedo,Peñalver,Robledo,Castaño,Vidal,Montero,Arriaga,Zamora,Escudales,Luján,Olmedo | Solmira,Verdelmar,Ondazul,Almendral,Rioclaro,Fontenera,Cerezal,Marolivo,Nubelia,Peñaluz,Tierraviva,Colibrán,Azafranal
portuguese | Beatriz,Tiago,Inês,Gonçalo,Marina,Rafael,Joana,Duarte,Larissa,Caio,Sofia,Vasco,Luana,João | Tavares,Queirós,Figueira,Magalhães,Pacheiro,Brandoal,Falqueiro,Seixas,Valadares,Teles,Nogueira,Barreto,Simões,Cardim | Fonteluz,Cortiçal,Marévia,Jacarandá,Ipêmar,Andorinho,Serralva,Lusarco,Pedralva,Calçadão,Maresol,Girassola,Ventoleste
nordic | Astrid,Erik,Freja,Linnea,Mikkel,Sigrid,Oskar,Maja,Lars,Ebba,Søren,Tuva,Viktor,Elin | Lindqvist,Bergström,Nørskov,Hallberg,Dahlin,Ekström,Sjöberg,Kjær,Wikander,Åkerlund,Holmgaard,Söderlind,Friskholm,Ravn | Björkvik,Fjällsol,Havsbris,Stjärnvik,Skogslunda,Isbrygga,Grønhavn,Åkerljus,Tallmo,Snöregn,Strandmark,Kvistad,Ljungdal
finnish | Aino,Mikko,Kaisa,Juhani,Liis,Rasmus,Helmi,Tanel,Sanni,Eero,Kadri,Otto | Mäkiranta,Lehtovirta,Kivistö,Tamm,Rebane,Heinäaho,Saarelma,Kask,Laaksonen,Pärn,Niskala,Ilves | Tuulimäki,Kivilampi,Revontor,Kuusisalo,Hallavesi,Merikoivu,Valgepuu,Lumikko,Pilvelä,Koidusti
polish | Zofia,Krzysztof,Magda,Paweł,Hanna,Wojtek,Agnieszka,Michał,Kinga,Bartek | Wiśniewska-Lis,Zarębski,Górka,Malinowicz,Sobczyk,Wrona,Jaskólski,Kruk,Borowiec,Łapiński | Bursztynek,Wisłoka,Jaskółka,Modrzew,Żurawin,Księżyk,Polanka,Sośniak
italian | Chiara,Lorenzo,Giulia,Davide,Elisa,Matteo,Federica,Nicolò,Serena,Pietro | Bellandi,Ferraro,Galimberti,Morettani,Santori,Valsecchi,Zanetti,Cortesi,Lombardini,Perugino | Corvaluna,Terramora,Brezzano,Limonaia,Portavento,Vespaio,Cipressa,Lunario,Grottamare
israeli | Noa,Eitan,Tamar,Yonatan,Shira,Amit,Maayan,Nadav,Liron,Roni,Hila,Ori | Ben-Ami,Shaked,Dagan,Almog,Peretz,Sharabi,Golani,Navon,Rimon,Kadosh,Harel,Zilber | Negevra,Shakedia,Ofirel,Galboa,Tamarix,Kedemar,Rimonet,Arbelon,Yarkona,Livyatar,Sahavit,Eshkolot
indian | Ananya,Arjun,Kavya,Nikhil,Meera,Siddharth,Divya,Karthik,Ishita,Varun | Iyengar,Deshpande,Kulkarni,Menothil,Bhattacharya,Rao,Shenoy,Chatterjee,Naidu,Hegde | Suryavan,Neelambar,Kaveripath,Mangrovia,Chandanam,Tarangini,Banyanix,Mitravat
african | Wanjiru,Kamau,Amina,Otieno,Zawadi,Baraka,Njeri,Kiprono,Achieng,Juma | Mwangi,Odhiambo,Njoroge,Wekesa,Mutua,Kariuki,Chebet,Ouma,Kilonzo,Muriuki | Baobabry,Savannar,Jakaranda,Mtoni,Kilimara,Twigana,Nyotari,Bahariva
japanese | Misaki:美咲,Haruto:陽翔,Yui:結衣,Ren:蓮,Aoi:葵,Sota:颯太,Rin:凛,Kaito:海斗,Mio:澪,Daichi:大地 | Hoshino:星野,Kuroda:黒田,Morishige:森重,Tachibana:橘,Kazama:風間,Shiraishi:白石,Ogawa:小川,Nishida:西田,Aibara:藍原,Hirano:平野 | Hoshinami:星波,Asagiri:朝霧,Kazamori:風森,Shirakaba:白樺,Nagihara:凪原,Tsukikage:月影,Minasoko:水底,Yukimichi:雪道
korean | Seo-bin:서빈,Min-jun:민준,Ji-woo:지우,Do-yun:도윤,Ha-eun:하은,Joon-ho:준호,Da-ol:다올,Tae-yang:태양 | Kang:강,Yoon:윤,Baek:백,Seo:서,Noh:노,Moon:문,Hwang:황,Ahn:안,Nam:남 | Haneulbit:하늘빛,Dalmaji:달맞이,Narae:나래,Sanbaram:산바람,Mirinae:미리내,Solbit:솔빛,Onsaemiro:온새미로
taiwanese | Shao-an:紹安,Chia-hao:家豪,Yu-chen:雨晨,Pin-yu:品妤,Kuan-lin:冠霖,Hsin-yi:欣怡,Cheng-en:承恩,Szu-han:思涵,Po-wei:柏瑋,Ming-che:明哲 | Chen:陳,Lin:林,Hsu:許,Tsai:蔡,Chiang:江,Kuo:郭,Yeh:葉,Fang:方,Shih:施,Tseng:曾 | Qingshan:青杉,Yunhai:雲海,Xinglan:星嵐,Langhua:浪華,Lanting:藍庭,Guangyi:光曳,Fengye:楓野,Haifeng:海楓
`).map((cell) => [cell(0), { first: list(cell(1)), last: list(cell(2)), stems: list(cell(3)) }]),
);

const women = new Set(
  list(`
Annika,Lena,Miriam,Franziska,Katharina,Svenja,Leonie,Ulrike,Carla,Sanne,Femke,Lotte,Anouk,Marieke,Fleur,Iris,Amelia,
Priya,Grace,Naomi,Hannah,Imogen,Leila,Maya,Tessa,Bethany,Keisha,Sophie,Claire,Jenna,Abigail,Rosa,Camille,Élodie,Manon,
Inès,Clémence,Noémie,Léa,Lucía,Marta,Ximena,Paula,Valeria,Noelia,Carmen,Beatriz,Inês,Marina,Joana,Larissa,Sofia,Luana,
Astrid,Freja,Linnea,Sigrid,Maja,Ebba,Tuva,Elin,Aino,Kaisa,Liis,Helmi,Sanni,Kadri,Zofia,Magda,Hanna,Agnieszka,Kinga,
Chiara,Giulia,Elisa,Federica,Serena,Noa,Tamar,Shira,Maayan,Liron,Hila,Ananya,Kavya,Meera,Divya,Ishita,Wanjiru,Amina,
Zawadi,Njeri,Achieng,Misaki,Yui,Aoi,Rin,Mio,Seo-bin,Ji-woo,Ha-eun,Da-ol,Shao-an,Yu-chen,Pin-yu,Hsin-yi,Szu-han`),
);

/** A person's name begins with a given one. */
export function isWoman(latin: string): boolean {
  return women.has(latin.split(' ')[0] ?? '');
}

/** A name as shown, and its Latin part, from which addresses are made. */
export interface InventedName {
  readonly shown: string;
  readonly latin: string;
}

function spellings(entry: string): readonly [latin: string, native: string] {
  const colon = entry.indexOf(':');
  return colon < 0 ? [entry, ''] : [entry.slice(0, colon), entry.slice(colon + 1)];
}

export function firstName(naming: string, random: Random): string {
  return spellings(random.pick(lookUp(namings, naming).first))[0];
}

/** `Misaki Hoshino (星野美咲)` for about half of those with a native spelling. */
export function personName(naming: string, random: Random): InventedName {
  const { first, last } = lookUp(namings, naming);
  const [givenLatin, givenNative] = spellings(random.pick(first));
  const [familyLatin, familyNative] = spellings(random.pick(last));
  const latin = `${givenLatin} ${familyLatin}`;
  const native = familyNative !== '' && random.chance(0.5);
  return { latin, shown: native ? `${latin} (${familyNative}${givenNative})` : latin };
}

/** A business of its own name in a place, and the name of its site. */
export function inventBusiness(
  names: UniqueNames,
  { naming, city }: Place,
  words: readonly string[],
  random: Random,
): { readonly name: string; readonly site: string } {
  let latin = '';
  const name = names.take((attempt) => {
    const made = businessName(naming, random.pick(words), random);
    const suffix = attempt < 20 ? '' : ` ${city}`;
    latin = made.latin + suffix;
    return made.shown + suffix;
  });
  // The native spelling of a stem may meet another's Latin one: the site has the city, too, then.
  return { name, site: slug(name === latin ? latin : `${latin} ${city}`) };
}

/** `Nordlicht Pay`, `星波 Robotics`. */
function businessName(naming: string, word: string, random: Random): InventedName {
  const [latin, native] = spellings(random.pick(lookUp(namings, naming).stems));
  const stem = native !== '' && random.chance(0.4) ? native : latin;
  return { latin: `${latin} ${word}`, shown: `${stem} ${word}` };
}
