export { Person } from '../../../people/src/models/person.ts';
