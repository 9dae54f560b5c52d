import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { accessorNames, linkError, takesItems } from '../../change/accessors.ts';
import type { Mapper } from '../../database/mapper.ts';
import { didYouMean, listed } from '../../declaration/suggest.ts';
import type { ActionDeclaration, ApiDeclaration, Catalog, Path } from '../../declaration/types.ts';
import { defaultActions } from '../../declaration/vocabulary.ts';
import { ownProperties } from '../../model/field-plan.ts';
import { concreteClasses, entitiesOf } from '../../model/hierarchy.ts';
import { handlerName } from '../../route/record.ts';
import { type Denormalizer, isDenormalizerClass } from '../../serialization/denormalizer.ts';
import { isNormalizerClass } from '../../serialization/normalizer.ts';
import { ApiController } from '../controller/api-controller.ts';
import {
  adoptRetiredHooks,
  type ControllerClass,
  isControllerClass,
  isDefaultHandler,
  isOverridden,
} from '../controller/controller-class.ts';

interface Findings {
  add(path: Path, message: string): void;
  warn(path: Path, message: string): void;
  /** Whether something at the path was reported before. */
  touches(path: Path): boolean;
}

/** Reports classes that are not controllers, handlers that do not exist, and associations that the model does not have. */
export function checkControllers(apis: readonly ApiDeclaration[], mapper: Mapper, findings: Findings): void {
  for (const api of apis) {
    if (findings.touches([...api.path, 'controller'])) continue;
    if (api.controller && !isControllerClass(api.controller.value)) {
      findings.add([...api.path, 'controller'], `${api.controller.name} must extend ApiController`);
      continue;
    }
    adoptHooks(api, findings);
    checkOverrides(api, findings);
    const meta = metaOf(mapper, api);
    checkHandlerNames(api, findings);
    for (const action of api.actions) {
      const inAssociation = findings.touches([...action.path, 'association']);
      if (!inAssociation) checkHandler(api, action, findings);
      if (meta && action.association && !inAssociation) checkAssociation(meta, action, mapper, findings);
    }
  }
}

/** Warns of hooks with a former name. */
function adoptHooks({ controller, path }: ApiDeclaration, findings: Findings): void {
  if (!controller) return;
  for (const { from, to } of adoptRetiredHooks(controller.value as ControllerClass))
    findings.warn([...path, 'controller'], `${controller.name}.${from} was renamed in Declarest: rename it to ${to}`);
}

/** Reports an override that default actions would not call. */
function checkOverrides(api: ApiDeclaration, findings: Findings): void {
  const type = api.controller?.value as (ControllerClass & { readonly name: string }) | undefined;
  if (!type || !isOverridden(type, 'deserialize')) return;
  const writing = api.actions.filter((action) => isDefaultHandler(type, handlerName(action, type))).flatMap(writesOf);
  if (writing.length === 0) return;
  findings.add(
    [...api.path, 'controller'],
    `${type.name} overrides deserialize, which the default actions ${listed(writing)} do not call; ` +
      'bind a Denormalizer to the association, or handle these actions by methods of the controller',
  );
}

/** The methods of a default action that read a body: `"_entity" PATCH` */
function writesOf({ methods, name }: ActionDeclaration): string[] {
  return methods
    .filter((method) => method === 'POST' || method === 'PATCH' || method === 'PUT')
    .map((method) => `"${name}" ${method}`);
}

/** Reports actions that one method would handle because their names differ in dashes only. */
function checkHandlerNames({ actions, controller }: ApiDeclaration, findings: Findings): void {
  const takenBy = new Map<string, string>();
  for (const action of actions) {
    if (action.kind !== 'custom' || action.controllerAction !== null || action.association) continue;
    const name = handlerName(action, controller?.value);
    const other = takenBy.get(name);
    if (other !== undefined)
      findings.add(
        action.path,
        `the actions "${other}" and "${action.name}" are both handled by ${name}; rename one of them, or set its "controller_action"`,
      );
    takenBy.set(name, action.name);
  }
}

function checkHandler(api: ApiDeclaration, action: ActionDeclaration, findings: Findings): void {
  const name = handlerName(action, api.controller?.value);
  const type = (api.controller?.value ?? ApiController) as { readonly name: string; readonly prototype: Record<string, unknown> };
  const known = methodsOf(type.prototype);
  if (known.includes(name) || (defaultHandlers.includes(name) && isDefaultFor(name, action))) return;
  const path = action.controllerAction === null ? action.path : [...action.path, 'controller_action'];
  const remedy = api.controller
    ? `write ${name}(${action.single ? 'id, ' : ''}request, format) on ${type.name}`
    : 'name a controller that has it, or declare an association';
  const meant = didYouMean(name, known) || didYouMean(action.name, defaultActions);
  findings.add(path, `the action "${action.name}" is handled by ${name}, which ${type.name} does not have;${meant} ${remedy}`);
}

/** The handlers of the base controller. Its other methods are not handlers. */
const defaultHandlers = ['indexApi', 'entityApi', 'addRemoveApi'];

function isDefaultFor(name: string, { association, kind }: ActionDeclaration): boolean {
  if (name === 'addRemoveApi') return association !== null;
  return name === (kind === 'index' ? 'indexApi' : 'entityApi') && kind !== 'custom';
}

/** The methods that a controller of the application defines itself. */
function methodsOf(prototype: object): string[] {
  const names = new Set<string>();
  for (
    let type = prototype;
    type && type !== ApiController.prototype && type !== Object.prototype;
    type = Object.getPrototypeOf(type)
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(type))) {
      if (name !== 'constructor' && typeof value === 'function') names.add(name);
    }
  }
  return [...names];
}

function checkAssociation(meta: EntityMetadata, action: ActionDeclaration, mapper: Mapper, findings: Findings): void {
  const { property, types } = action.association as NonNullable<ActionDeclaration['association']>;
  const path = [...action.path, 'association', 'property'];
  const owners = concreteClasses(mapper, meta);
  const missing = owners.find((concrete) => !takesItems(concrete, property));
  if (missing) {
    const known = ownProperties(meta)
      .filter((candidate) => candidate.kind === '1:m' || candidate.kind === 'm:n')
      .map(({ name }) => name as string)
      .filter((name) => !name.endsWith('__inverse'));
    const names = accessorNames(property);
    findings.add(
      path,
      `${missing.className} has no to-many association "${property}";${didYouMean(property, known)} associations: ${listed(known)}. ` +
        `Or give the model the methods add${names.at(-1)}(item) and remove${names.at(-1)}(item)`,
    );
    return;
  }
  if (types.length === 0) {
    if (!(meta.properties[property as never] as EntityProperty | undefined)?.targetMeta)
      findings.add(path, `"${property}" is not an association of ${meta.className}; declare its types: types: [Person]`);
    return;
  }
  const named = types.flatMap(({ value }) => (mapper.getMetadata().find(value as never) as EntityMetadata | undefined) ?? []);
  // an unknown type was reported before
  if (named.length < types.length) return;
  const verbs = (['add', 'remove'] as const).filter((verb) => action.methods.includes(verb === 'add' ? 'POST' : 'DELETE'));
  const [trouble] = owners.flatMap((owner) => linkError(owner, property, named, verbs) ?? []);
  if (trouble) findings.add([...action.path, 'association', 'types'], trouble);
}

/** Reports denormalizers for associations and actions that do not exist, or that another denormalizer claims. */
export function checkDenormalizers(catalog: Catalog, apis: readonly ApiDeclaration[], mapper: Mapper, findings: Findings): void {
  const custom = apis.flatMap(({ actions, name }) =>
    actions.filter(({ kind }) => kind === 'custom').map((action) => `${name}.${action.name}`),
  );
  const claimed = new Map<string, string>();
  for (const { name, qualifiedName, value } of catalog.denormalizers) {
    if (!isDenormalizerClass(value)) continue;
    const { actions, properties } = value as unknown as typeof Denormalizer;
    const at: Path = [qualifiedName];
    if (![actions, properties].every(Array.isArray) || actions.length + properties.length === 0) {
      findings.add(
        at,
        `${name} must declare what it handles: static properties = ['Course.requestor'], or static actions = ['course.participation']`,
      );
      continue;
    }
    const claim = (key: string, served: string) => {
      const other = claimed.get(key);
      if (other) findings.add(at, `${name} and ${other} both handle ${served}; remove it from one of them`);
      claimed.set(key, name);
    };
    for (const action of actions) {
      claim(`action ${action}`, action);
      if (!custom.includes(action)) {
        findings.add(
          at,
          `${name} handles the action "${action}", which is not a custom action of an API;${didYouMean(action, custom)} custom actions: ${listed(custom)}`,
        );
      }
    }
    for (const property of properties) {
      claim(property, property);
      if (!isAssociation(mapper, property)) {
        findings.add(
          at,
          `${name} handles "${property}", which is not an association of a model; write Model.property, for example Course.requestor`,
        );
      }
    }
  }
}

/** Reports normalizers for properties and models that do not exist, or that another normalizer claims. */
export function checkNormalizers({ normalizers }: Catalog, mapper: Mapper, findings: Findings): void {
  const claimed = new Map<string, string>();
  const metas = [...mapper.getMetadata().getAll().values()];
  const serves = (served: string, isModel: boolean) => {
    const [model, property, ...rest] = served.split('.');
    const meta = metas.find(({ className }) => className === model);
    if (isModel) return meta !== undefined && property === undefined;
    return rest.length === 0 && meta !== undefined && property !== undefined && Object.hasOwn(meta.properties, property);
  };
  for (const { name, qualifiedName, value } of normalizers) {
    if (!isNormalizerClass(value)) continue;
    const { models, properties } = value;
    const at: Path = [qualifiedName];
    if (![models, properties].every(Array.isArray) || properties.length + models.length === 0) {
      findings.add(
        at,
        `${name} must declare what it handles: static properties = ['Course.price'], or static models = ['Money']`,
      );
      continue;
    }
    for (const served of [...properties, ...models]) {
      const other = claimed.get(served);
      if (other) findings.add(at, `${name} and ${other} both handle ${served}; remove it from one of them`);
      claimed.set(served, name);
    }
    for (const served of properties)
      if (!serves(served, false))
        findings.add(
          at,
          `${name} handles "${served}", which is not a property of a model; write Model.property, for example Course.price`,
        );
    for (const served of models)
      if (!serves(served, true)) findings.add(at, `${name} handles "${served}", which is not a model of the application`);
  }
}

function isAssociation(mapper: Mapper, path: string): boolean {
  const [model, property] = path.split('.');
  const meta = entitiesOf(mapper).find(({ className }) => className === model);
  if (!meta || !property) return false;
  return takesItems(meta, property) || (meta.relations as EntityProperty[]).some(({ name }) => name === property);
}

function metaOf(mapper: Mapper, api: ApiDeclaration): EntityMetadata | undefined {
  return api.class.value ? (mapper.getMetadata().find(api.class.value as never) as EntityMetadata | undefined) : undefined;
}
