export { Course } from '../../../people/src/models/course.ts';
