/**
 * The demonstration catalogue: invented leads of all nine entity types. The same leads every time; addresses are
 * on the reserved `.example` domain and phone numbers in ranges kept for fiction, so that none reaches anyone.
 */
import type { CatalogueEntity } from './catalogue-entity.ts';
import { makeChinesePages } from './demonstration/chinese.ts';
import { makeCompanies } from './demonstration/companies.ts';
import { makeCreators } from './demonstration/creators.ts';
import { makePeople } from './demonstration/people.ts';
import { makeStores } from './demonstration/stores.ts';

export function* demonstrationEntities(): Generator<CatalogueEntity, void, undefined> {
  const { companies, laterCompanies } = makeCompanies(900);
  for (const { lead } of [...companies, ...laterCompanies]) yield lead;
  yield* makePeople(900, companies, laterCompanies);
  yield* makeCreators(300);
  yield* makeStores(500);
  yield* makeChinesePages(150);
}
