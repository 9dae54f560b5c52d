import type { ApiDeclaration, Path } from '../../declaration/types.ts';
import { defaultIdRequirement } from '../../route/record.ts';
import { requirementSource } from '../../route/requirement.ts';
import { ApiController } from '../controller/api-controller.ts';
import { type ControllerClass, isControllerClass, isOverridden } from '../controller/controller-class.ts';
import { hookWith, overriddenHooks } from '../hooks.ts';

interface Findings {
  add(path: Path, message: string, of?: 'key'): void;
  warn(path: Path, message: string): void;
}

/** Reports aggregates of a list that application code can change, because the database would count what that code hides. */
export function checkAggregates({ actions, controller }: ApiDeclaration, findings: Findings): void {
  const index = actions.find(({ kind }) => kind === 'index');
  const aggregate = index?.list?.aggregate;
  if (!index || !aggregate) return;
  const refuse = (message: string) => findings.add(aggregate.path, message, 'key');
  if (!index.methods.includes('GET')) refuse('"aggregate" needs the method GET of _index; enable it, or remove "aggregate"');
  const type = controller && isControllerClass(controller.value) ? (controller.value as unknown as ControllerClass) : null;
  const hook = type && hookWith(overriddenHooks(type.prototype, ApiController.prototype), 'rows');
  const elsewhere = 'declare "aggregate" on another API of the model, with a controller that only restricts queries';
  if (index.controllerAction !== null || (type && isOverridden(type, 'indexApi')))
    refuse(`a method of the controller handles _index, and the database knows nothing about it; ${elsewhere}`);
  else if (hook)
    refuse(`${controller?.name} has ${hook}, which can hide values of the list, and aggregates would reveal them; ${elsewhere}`);
  const entity = actions.find(({ kind }) => kind === 'entity');
  const requirement = entity?.requirements.id ?? defaultIdRequirement;
  if (entity && entity.segment === null && index.segment === null && matches(requirement, aggregate.segment))
    findings.warn(
      aggregate.path,
      `an entity with the id "${aggregate.segment}" cannot be fetched, because its path is that of the aggregates; set "path" to a segment that no id has`,
    );
}

function matches(requirement: string, id: string): boolean {
  try {
    return new RegExp(`^${requirementSource(requirement)}$`).test(id);
  } catch {
    return false;
  }
}
