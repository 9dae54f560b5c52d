export { Center } from '../../../signed/src/models/center.ts';
