export { Course } from '../../../signed/src/models/course.ts';
