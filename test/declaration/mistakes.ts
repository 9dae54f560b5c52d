// Every mistake that compilers find in declarations, under what they say of it. See mistakes.test.ts.
import { defineEntity, p } from '@mikro-orm/core';
import { defineApis } from '../../src/declaration/define-apis.ts';

const Address = defineEntity({
  name: 'Address',
  embeddable: true,
  properties: { street: p.string(), zip: p.string().nullable().serializedName('postal_code') },
});
const Place = defineEntity({
  name: 'Place',
  properties: { id: p.integer().primary(), title: p.string().serializedName('label') },
});
const Owner = defineEntity({ name: 'Owner', properties: { id: p.integer().primary(), surname: p.string() } });
const thingSchema = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary(),
    size: p.integer().nullable(),
    address: () => p.embedded(Address),
    place: () => p.manyToOne(Place).nullable().serializedName('location'),
    owner: () => p.manyToOne([Owner, Place]),
    places: () => p.manyToMany(Place),
  },
});
class Thing extends thingSchema.class {}
class ThingController {
  indexApi(): void {}
  closeApi(): void {}
  theLoudest(): void {}
}
class ThingVoter {
  static roles = ['THING_SEE', 'THING_CLOSE'] as const;
}
const base = { class: Thing, base_path: '/thing', actions: { _index: null } } as const;

defineApis(
  {
    fields: {
      ...base,
      filters: {
        id: ['eq'],
        // @ts-expect-error Thing has no field 'colour'; it has: address, id, location, owner, places, size
        colour: ['eq'],
        // @ts-expect-error Thing has no field 'place'; it has: address, id, location, owner, places, size
        'place.label': ['contains'],
        // @ts-expect-error 'location' of Thing has no field 'title'; it has: id, label
        'location.title': ['contains', 'starts'],
        // @ts-expect-error 'address' of Thing has no field 'zip'; it has: postal_code, street
        'address.zip': ['eq'],
        // @ts-expect-error 'owner' of Thing has no field 'name'; it has: id, label, surname
        'owner.name': ['eq'],
        // @ts-expect-error 'label' of 'location' of Thing is a single value, and has no field 'length'
        'location.label.length': ['eq'],
      },
      sort: [
        'size',
        // @ts-expect-error Thing has no field 'sise'; it has: address, id, location, owner, places, size
        'sise',
      ],
      search: [
        'owner.surname',
        // @ts-expect-error 'places' of Thing has no field 'title'; it has: id, label
        'places.title',
      ],
      default_sort: [
        '-place.title',
        // @ts-expect-error 'place' of Thing has no field 'label'; it has: id, title
        '-place.label',
      ],
    },
    lists: {
      ...base,
      actions: {
        _index: {
          // @ts-expect-error Thing has no field 'colour'; it has: address, id, location, owner, places, size
          search: { fields: ['colour'], using: 'trigram' },
        },
      },
    },
    associations: {
      ...base,
      actions: {
        place: { association: { property: 'places' } },
        // @ts-expect-error Thing has no to-many association 'owners', and no methods addOwner and removeOwner; its to-many associations: places
        owner: { association: { property: 'owners' } },
        // @ts-expect-error Thing has no to-many association 'place', and no methods addPlace and removePlace; its to-many associations: places
        location: { association: { property: 'place' } },
      },
    },
    methods: {
      ...base,
      // @ts-expect-error actions are handled by openApi, shutApi, which the controller does not have; it has: closeApi, theLoudest
      controller: ThingController,
      actions: {
        close: null,
        open: null,
        shut: { methods: { POST: true }, controller_action: null },
        // @ts-expect-error the controller has no method 'theLouder'; it has: closeApi, theLoudest
        loud: { controller_action: 'theLouder' },
      },
    },
    nobody: {
      ...base,
      // @ts-expect-error actions are handled by closeApi, which needs a controller; add 'controller', or declare an association
      actions: { close: { methods: { POST: true } } },
    },
    roles: {
      ...base,
      // @ts-expect-error no voter judges the role 'THING_SEEN'; roles: THING_CLOSE, THING_SEE, and those that begin with ROLE_
      base_role: 'THING_SEEN',
      actions: {
        _entity: {
          roles: {
            GET: 'THING_SEE',
            HEAD: null,
            DELETE: 'ROLE_ADMIN',
            // @ts-expect-error no voter judges the role 'ADMIN'; roles: THING_CLOSE, THING_SEE, and those that begin with ROLE_
            PATCH: 'ADMIN',
          },
        },
      },
    },
    keys: {
      ...base,
      // @ts-expect-error unknown key 'filter'; keys: actions, aggregate, base_path, base_role, class, controller, default_sort, description, filters, formats, groups, hidden, name, nested, pagination, rate_limit, require_if_match, search, sort
      filter: { id: ['eq'] },
    },
  },
  { voters: [ThingVoter] },
);

// what has the wrong type is told by the compiler itself
defineApis({
  // @ts-expect-error Type '"like"' is not assignable to type
  operator: { ...base, filters: { size: ['like'] } },
});
defineApis({
  // @ts-expect-error Property 'base_path' is missing in type
  place: { class: Thing, actions: { _index: null } },
});
