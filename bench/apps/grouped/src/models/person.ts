export { Person } from '../../../signed/src/models/person.ts';
