import type { Field, ReferenceTarget } from './form-model.ts';
import { modelsOf, optionsOf, propertiesOf, type Schema, type Schemas } from './schema.ts';

/**
 * The form with pickers for associations that code of the application reads. The body does not tell their shape, but responses tell
 * their models, and references have the form `{type, id}`.
 */
export function withReadReferences(schemas: Schemas, form: Field, item: Schema): Field {
  if (form.kind !== 'object') return form;
  const properties = propertiesOf(schemas, item);
  const replaced = (field: Field): Field => {
    const schema = properties.get(field.name);
    if (field.kind !== 'json' || !schema) return field;
    const targets = targetsOf(schemas, schema);
    return targets.length === 0 ? field : { ...field, kind: 'reference', nullable: true, targets };
  };
  return { ...form, variants: form.variants.map(({ fields, type }) => ({ type, fields: fields.map(replaced) })) };
}

function targetsOf(schemas: Schemas, schema: Schema): ReferenceTarget[] {
  return modelsOf(schemas, schema).map((model) => {
    const option = optionsOf(schemas, schema).find((each) => each['x-model'] === model);
    const constant = option?.properties?.type?.const;
    return {
      model,
      key: 'id',
      parts: option?.['x-key'] ?? ['id'],
      types: [constant === undefined ? snakeCase(model) : String(constant)],
      typed: true,
    };
  });
}

/** The `type` of a class without a discriminator. */
function snakeCase(name: string): string {
  return name.replace(/([a-z\d])([A-Z])/g, '$1_$2').toLowerCase();
}
