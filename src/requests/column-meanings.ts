/**
 * What the columns of people's own files mean: exports of CRMs and prospecting tools, lists of start-ups, leads of a search. The one table of
 * column names. It is used for what is sent for a row, for the names of leads that are left out, and to know a header.
 */

/** What a column can mean. `first` and `last` are the two parts of a person's name. */
const ownWords = {
  name: 'name full_name display_name vollstaendiger_name vollstandiger_name ganzer_name nom_complet nom_et_prenom prenom_et_nom nom_prenom prenom_nom nombre_completo nombre_y_apellidos nombre_y_apellido nom nombre',
  first:
    'first_name given_name forename fname first vorname rufname prenom nombre_de_pila primer_nombre nombres',
  last: 'last_name surname family_name lname last nachname familienname zuname nom_de_famille apellidos apellido primer_apellido',
  title:
    'job_title title position role job_role job occupation current_title current_position job_position headline berufsbezeichnung stellenbezeichnung jobtitel funktion rolle beruf stelle intitule_du_poste intitule_de_poste titre_du_poste titre poste fonction metier titulo_del_puesto puesto_de_trabajo cargo puesto titulo rol',
  website:
    'website websites website_url web_site site_url homepage home_page homepage_url web_page webpage web_url domain domains domain_name primary_domain email_domain webseite internetseite internetadresse webadresse internet site_web site_internet adresse_web page_web nom_de_domaine domaine sitio_web pagina_web pagina_de_internet direccion_web dominio web site sitio www url link links.website',
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
} as const;

export type Meaning = keyof typeof ownWords | 'company';

const meanings = [...Object.keys(ownWords), 'company'] as readonly Meaning[];

/** What stands for a company, alone or before what belongs to it: `Company`, `Company Name`, `Account Website`, `Firma Ort`. */
const companies =
  'company organization organisation account employer business corporation firm startup start_up enterprise store shop brand current_company current_employer firma firmen unternehmen unternehmens arbeitgeber betrieb gesellschaft entreprise societe compagnie employeur organisme empresa compania organizacion sociedad negocio empleador tienda';
/** Names of a company that are not made of these. */
const companyNames =
  'company_account company_or_account company_organization nom_de_l_entreprise nom_entreprise nom_de_la_societe nom_societe nom_de_l_organisation raison_sociale nombre_de_la_empresa nombre_empresa nombre_de_empresa nombre_de_la_compania razon_social firmenname unternehmensname name_der_firma name_des_unternehmens';
/** What stands for a person before what belongs to it: `Contact First Name`. Alone it is a name. */
const people =
  'person contact lead prospect candidate contact_person primary_contact kontakt ansprechpartner ansprechpartnerin kontaktperson personen personne interlocuteur contacto persona';
/** What stands before a place in an address. */
const addresses = 'mailing billing shipping business work office home primary main other hq headquarters';

/** Whose each of these can be. */
const ofPeople: readonly Meaning[] = [
  'name',
  'first',
  'last',
  'title',
  'profile',
  'city',
  'country',
  'website',
];
const ofCompanies: readonly Meaning[] = ['website', 'city', 'country', 'profile'];
const ofAddresses: readonly Meaning[] = ['city', 'country'];

/** Pure: a name of a column without what differs between files: case, accents, spaces and signs. */
function toNormal(name: string): string {
  return name
    .slice(0, 200)
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

const tables = new Map<Meaning, ReadonlyMap<string, number>>();

/** The names with this meaning and the place of each: the first is the surest. It is made when it is needed first. */
function tableOf(meaning: Meaning): ReadonlyMap<string, number> {
  const known = tables.get(meaning);
  if (known !== undefined) return known;
  const ranks = new Map<string, number>();
  for (const word of wordsOf(meaning)) {
    const normal = toNormal(word);
    if (!ranks.has(normal)) ranks.set(normal, ranks.size);
  }
  tables.set(meaning, ranks);
  return ranks;
}

function* wordsOf(meaning: Meaning): Generator<string, void> {
  if (meaning === 'company') {
    yield* words(companies);
    yield* pairs(companies, ['name', 'nom', 'nombre']);
    yield* words(companyNames);
    return;
  }
  const own = words(ownWords[meaning]);
  yield* own;
  if (meaning === 'name') yield* words(people);
  if (ofPeople.includes(meaning)) yield* pairs(people, own);
  if (ofCompanies.includes(meaning)) yield* pairs(companies, own);
  if (ofAddresses.includes(meaning)) yield* pairs(addresses, own);
}

function words(text: string): readonly string[] {
  return text.split(' ');
}

function pairs(owners: string, own: readonly string[]): readonly string[] {
  return words(owners).flatMap((owner) => own.map((word) => `${owner} ${word}`));
}

/** Pure: the columns with a meaning, the surest first. */
export function columnsWith(meaning: Meaning, columns: readonly string[]): readonly string[] {
  const table = tableOf(meaning);
  return columns
    .map((column) => ({ column, rank: table.get(toNormal(column)) ?? -1 }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank)
    .map(({ column }) => column);
}

/** Pure: whether a column of this name is known, so that a line with it is a header. */
export function isKnownColumn(name: string): boolean {
  const normal = toNormal(name);
  return meanings.some((meaning) => tableOf(meaning).has(normal));
}

/** Names of columns that do not say who or what a row is. */
const otherNames =
  'email e_mail_address mail email_adresse mailadresse courriel adresse_email adresse_mail correo correo_electronico direccion_de_correo phone phone_number telephone mobile mobile_phone telefon telefonnummer handy handynummer numero_de_telephone portable telefono numero_de_telefono movil objective query entity_context';
/** These are companies, too. */
const companyWords = ['linkedin', 'twitter', 'github', 'instagram', 'tiktok'];

/** Pure: whether a line of a text is the name of the column that the other lines are; `below` is the next one. */
export function isColumnName(line: string, below: string): boolean {
  const normal = toNormal(line);
  if (companyWords.includes(normal)) return /[@/]/.test(below);
  return isKnownColumn(line) || words(otherNames).map(toNormal).includes(normal);
}

/**
 * Pure: the columns with the names of the leads: `name`, else the name of a person in one column or in two, else that of a company. `joinName`
 * makes one name of two. Empty where no column is known.
 */
export function nameColumnsOf(columns: readonly string[]): readonly string[] {
  const [name, first, last, company] = (['name', 'first', 'last', 'company'] as const).map(
    (meaning) => columnsWith(meaning, columns)[0],
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
