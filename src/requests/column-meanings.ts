/**
 * What the columns of people's own files mean: exports of CRMs and prospecting tools, lists of start-ups, leads of a search. The one table of
 * column names. It is used for what is sent for a row, for the names of leads that are left out, and to know a header.
 */

/** Words for a company, alone or before one of its fields: `Company`, `Account Website`, `Firma Ort`. */
const companies =
  'company organization organisation organisatie org account employer business corporation firm startup start_up enterprise store shop brand institution university current_company current_employer associated_company primary_company related_company firma firmen unternehmen unternehmens arbeitgeber betrieb gesellschaft entreprise societe compagnie employeur organisme empresa compania organizacion sociedad negocio empleador tienda azienda bedrijf';
/** Other column names for the name of a company. */
const companyNames =
  '会社 公司 company_account company_or_account company_organization associated_company_primary primary_associated_company verbundenes_unternehmen nom_de_l_entreprise nom_entreprise nom_de_la_societe nom_societe nom_de_l_organisation raison_sociale nombre_de_la_empresa nombre_empresa nombre_de_empresa nombre_de_la_compania razon_social ragione_sociale nome_azienda firmenname unternehmensname name_der_firma name_des_unternehmens bedrijfsnaam 会社名 企業名 公司名称';

/** Words for a client, which may be a person or a company. They are also values of other columns. */
const clients = 'client customer kunde kunden auftraggeber mandant cliente klant';

/** The names with each meaning, the surest first. `first` and `last` are the two parts of a person's name. */
const ownWords = {
  name: 'name full_name display_name channel_name name_en english_name vollstaendiger_name vollstandiger_name ganzer_name nom_complet nom_et_prenom prenom_et_nom nom_prenom prenom_nom nombre_completo nombre_y_apellidos nombre_y_apellido nom nombre nome nome_completo naam 名称 名前 氏名 姓名',
  first:
    'first_name given_name forename fname first vorname rufname prenom nombre_de_pila primer_nombre nombres voornaam',
  last: 'last_name surname family_name lname last nachname familienname zuname nom_de_famille apellidos apellido primer_apellido cognome achternaam sobrenome',
  title:
    'job_title title position role job_role job occupation current_title current_position job_position headline berufsbezeichnung stellenbezeichnung jobtitel funktion rolle beruf stelle intitule_du_poste intitule_de_poste titre_du_poste titre poste fonction metier titulo_del_puesto puesto_de_trabajo cargo puesto titulo rol',
  company: `${companies} ${companyNames} ${clients}`,
  website:
    'website websites website_url web_site site_url homepage home_page homepage_url web_page webpage web_url domain domains domain_name primary_domain email_domain url_en official_website official_url webseite websiten_link internetseite internetadresse webadresse internet site_web page_web sito_web site_internet adresse_web nom_de_domaine domaine sitio_web pagina_web pagina_de_internet direccion_web dominio web site sitio www url link links.website',
  profile:
    'linkedin_url linkedin linkedin_profile linkedin_profile_url linkedin_link linkedin_page linkedin_profil profil_linkedin perfil_linkedin perfil_de_linkedin profile_url links.linkedin_url',
  city: 'city town city_town location headquarters_location headquarters headquarter hq_location stadt ort wohnort standort firmensitz sitz ville localite commune siege ciudad localidad poblacion municipio sede',
  country:
    'country country_region country_name nation land staat pays pais country_code land_region pays_region pais_region',
  description: 'description',
  handle:
    'handle username user_name screen_name account_name login user account nutzername benutzername nom_d_utilisateur nom_utilisateur utilisateur pseudo nombre_de_usuario usuario profile',
  x: 'x_handle x_username x_account x_user x_url twitter_handle twitter_username twitter_account twitter_user twitter_url twitter',
  github:
    'github_handle github_username github_login github_account github_user github_profile github_url github',
  ins: 'instagram_handle instagram_username instagram_account instagram_user instagram_url instagram insta ig_handle ig',
  tiktok: 'tiktok_handle tiktok_username tiktok_account tiktok_user tiktok_url tiktok',
  repository:
    'github_repository github_repo repository repository_url repository_name repo repo_url repo_name full_name name_with_owner html_url depot repositorio github_url github',
  email:
    'email email_address e_mail e_mail_address email_1 email_1_value e_mail_1 e_mail_1_value mail mail_address work_email primary_email emails email_adresse mailadresse courriel adresse_email adresse_mail adresse_electronique correo correo_electronico direccion_de_correo',
  phone:
    'phone phone_number phone_no mobile mobile_no mobile_phone mobile_number phone_1 phone_1_value telephone telephone_number telephone_no contact_number contact_no tel cell cell_phone telefon telefonnummer mobil mobilnummer mobiltelefon handy handynummer numero_de_telephone portable telefono numero_de_telefono telefone movil',
  /** The fields of the API that hold the request text of a row. */
  text: 'objective query entity_context',
} as const;

export type Meaning = keyof typeof ownWords;

/** Words for a person before one of its fields: `Contact First Name`. Alone, such a word means the name. */
const people =
  'person contact lead prospect candidate contact_person primary_contact kontakt ansprechpartner ansprechpartnerin kontaktperson personen personne interlocuteur contacto persona';
/** Words before a place in an address. */
const addresses = 'mailing billing shipping business work office home primary main other hq headquarters';

/** The fields that each owner can have. The name of a company means `company`. */
const owners: readonly (readonly [words: string, belongings: Partial<Record<Meaning, Meaning>>])[] = [
  [people, toItself('name first last title company profile city country website email phone')],
  [`${companies} ${clients}`, { ...toItself('website city country profile'), name: 'company' }],
  [addresses, toItself('city country')],
];

function toItself(meanings: string): Partial<Record<Meaning, Meaning>> {
  return Object.fromEntries(meanings.split(' ').map((meaning) => [meaning, meaning]));
}

/** Column names that are also values of other columns: `Lead` and `Customer` in a column `Status`. */
const values = `${people} ${clients} business corporation startup start_up enterprise store shop brand`;
/** Column names that are also names of companies. */
const companyWords = 'linkedin twitter github instagram tiktok';

/** Pure: a normalized column name: without case, accents, spaces and punctuation. */
function toNormal(name: string): string {
  return name
    .slice(0, maxLength)
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

/** All known names are shorter, in characters. */
const maxLength = 80;

type Ranked = { readonly meaning: Meaning; readonly rank: number };
type PrefixWord = { readonly belongings: Partial<Record<Meaning, Meaning>>; readonly rank: number };

let tables: ReturnType<typeof createTables> | undefined;

/** Created on first use. They have single words: a name of an owner and a field is split before it is looked up. */
function createTables() {
  const own = new Map<string, Ranked[]>();
  const before = new Map<string, PrefixWord[]>();
  const add = <Item>(table: Map<string, Item[]>, word: string, item: Item): void => {
    const normal = toNormal(word);
    table.set(normal, [...(table.get(normal) ?? []), item]);
  };
  for (const [meaning, words] of Object.entries(ownWords) as [Meaning, string][]) {
    const all = meaning === 'name' ? `${words} ${people}` : words;
    for (const [rank, word] of all.split(' ').entries()) add(own, word, { meaning, rank });
  }
  let rank = 0;
  for (const [words, belongings] of owners) {
    for (const word of words.split(' ')) add(before, word, { belongings, rank: ++rank * 1000 });
  }
  const toSet = (words: string): ReadonlySet<string> => new Set(words.split(' ').map(toNormal));
  return { own, before, values: toSet(values), companyWords: toSet(companyWords) };
}

/** The possible meanings of a column, ranked: known names come before combinations of an owner and a field. */
function* meaningsIn(normal: string): Generator<Ranked> {
  tables ??= createTables();
  const { own, before } = tables;
  yield* own.get(normal) ?? [];
  for (let cut = 2; cut < normal.length - 1; cut++) {
    for (const { belongings, rank } of before.get(normal.slice(0, cut)) ?? []) {
      for (const belonging of own.get(normal.slice(cut)) ?? []) {
        const meaning = belongings[belonging.meaning];
        if (meaning !== undefined) yield { meaning, rank: rank + belonging.rank };
      }
    }
  }
}

/** Pure: the columns with each meaning, the surest first. */
export function columnsByMeaning(columns: readonly string[]): (meaning: Meaning) => readonly string[] {
  const all = columns.flatMap((column) =>
    [...meaningsIn(toNormal(column))].map((found) => ({ column, ...found })),
  );
  all.sort((a, b) => a.rank - b.rank);
  return (wanted) => [...new Set(all.flatMap(({ column, meaning }) => (meaning === wanted ? [column] : [])))];
}

/** Pure: whether a column of this name is known, so that a line with it is a header. Before a colon it is a note. */
export function isKnownColumn(name: string): boolean {
  const normal = toNormal(name);
  return hasMeaning(normal) && tables?.values.has(normal) === false && !name.trimEnd().endsWith(':');
}

function hasMeaning(normal: string): boolean {
  return !meaningsIn(normal).next().done;
}

/** Pure: whether the first line of a text is the header of its only column; `below` is the next line. */
export function isColumnName(line: string, below: string): boolean {
  const normal = toNormal(line);
  return hasMeaning(normal) && (!tables?.companyWords.has(normal) || /[@/]/.test(below));
}

/** Pure: the column for email addresses or phone numbers that is meant by such a name: `Email 1` by `email`. */
export function contactColumnIn(columns: Iterable<string>, wanted: string): string | undefined {
  const meaning = contactMeaningOf(wanted);
  return meaning && columnsByMeaning([...columns])(meaning)[0];
}

/** Pure: the columns that contain a word with the same meaning: `Company Phone` for `phone`. */
export function contactCandidatesIn(columns: readonly string[], wanted: string): readonly string[] {
  const meaning = contactMeaningOf(wanted);
  return columns.filter((column) =>
    column.split(/[^\p{L}\p{N}]+/u).some((word) => meaning && contactMeaningOf(word) === meaning),
  );
}

function contactMeaningOf(name: string): Meaning | undefined {
  const found = [...meaningsIn(toNormal(name))].map(({ meaning }) => meaning);
  return found.find((meaning) => meaning === 'email' || meaning === 'phone');
}

/**
 * Pure: the columns with the names of the leads: `name`, else the name of a person in one column or in two, else that of a company. `joinName`
 * makes one name of two. Empty where no column is known.
 */
export function nameColumnsOf(columns: readonly string[]): readonly string[] {
  const find = columnsByMeaning(columns);
  const [name, first, last, company] = (['name', 'first', 'last', 'company'] as const).map(
    (meaning) => find(meaning)[0],
  );
  // In `Vorname, Name` and `Nombre, Apellidos` the name is the other part.
  const isPart = (first === undefined) !== (last === undefined);
  const person = name !== undefined && !isPart ? [name] : [first ?? name, last ?? name];
  const found = person.filter((one) => one !== undefined);
  return found.length > 0 || company === undefined ? found : [company];
}

/** Pure: the name of a person from the texts of its columns. One whose words are all in another is not repeated. */
export function joinName(parts: readonly string[]): string {
  const wordsOf = (part: string): readonly string[] => part.toLowerCase().split(/\s+/);
  const isRepeated = (part: string, at: number): boolean =>
    parts.some((other, place) => {
      if (place === at || wordsOf(part).some((word) => !wordsOf(other).includes(word))) return false;
      return wordsOf(other).length > wordsOf(part).length || place < at;
    });
  return parts.filter((part, at) => part !== '' && !isRepeated(part, at)).join(' ');
}
