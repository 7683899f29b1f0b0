import type { Entity, EntityType } from '../contract/types.ts';

/** One lead of a catalogue: what a search returns, and what enrichment and look-ups may answer from. */
export interface CatalogueEntity {
  readonly entity_type: EntityType;
  /** `name`, `links`, `description`, in the shape a search returns them (without `score`). */
  readonly entity: Entity & { name: string };
  /** Facts by snake_case name (`headcount`, `funding_stage`, `city`, `subscribers`, …), for enrich_fields and for number conditions. */
  readonly facts: Readonly<Record<string, string | number>>;
  readonly contact: { readonly email: string | null; readonly phone: string | null };
}
