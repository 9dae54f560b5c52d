export { Center } from '../../../people/src/models/center.ts';
