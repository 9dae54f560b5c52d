// NestJS on Fastify with @dataui/crud over TypeORM.
import 'reflect-metadata';
import { Crud } from '@dataui/crud';
import { TypeOrmCrudService } from '@dataui/crud-typeorm';
import { Controller, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsEmail, IsOptional } from 'class-validator';
import { Column, Entity, JoinColumn, JoinTable, ManyToMany, ManyToOne, PrimaryGeneratedColumn, type Repository } from 'typeorm';

@Entity('center')
class Center {
  @PrimaryGeneratedColumn() id!: number;
  @Column('text') name!: string;
}

@Entity('person')
class Person {
  @PrimaryGeneratedColumn() id!: number;
  @Column('text') kind!: string;
  @Column('text') first_name!: string;
  @Column('text') last_name!: string;
  @IsOptional() @IsEmail() @Column('text') email!: string;
  @Column('date') birthdate!: string;
  @Column('timestamptz') created_at!: Date;
  @Column('int') center_id!: number;
  @ManyToOne(() => Center) @JoinColumn({ name: 'center_id' }) center!: Center;
}

@Entity('course')
class Course {
  @PrimaryGeneratedColumn() id!: number;
  @Column('text') name!: string;
  @ManyToMany(() => Person)
  @JoinTable({ name: 'course_person', joinColumn: { name: 'course_id' }, inverseJoinColumn: { name: 'person_id' } })
  participants!: Person[];
}

@Injectable()
class PeopleService extends TypeOrmCrudService<Person> {
  constructor(@InjectRepository(Person) repository: Repository<Person>) {
    super(repository);
  }
}

@Injectable()
class CoursesService extends TypeOrmCrudService<Course> {
  constructor(@InjectRepository(Course) repository: Repository<Course>) {
    super(repository);
  }
}

const paged = { limit: 20, alwaysPaginate: true, sort: [{ field: 'id', order: 'ASC' as const }] };

@Crud({ model: { type: Person }, query: { ...paged, join: { center: { eager: true } } } })
@Controller('people')
class PeopleController {
  constructor(public service: PeopleService) {}
}

@Crud({
  model: { type: Course },
  query: { ...paged, join: { participants: { eager: true }, 'participants.center': { eager: true, alias: 'their_center' } } },
})
@Controller('courses')
class CoursesController {
  constructor(public service: CoursesService) {}
}

const entities = [Center, Person, Course];

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, entities, poolSize: 10, synchronize: false }),
    TypeOrmModule.forFeature(entities),
  ],
  controllers: [PeopleController, CoursesController],
  providers: [PeopleService, CoursesService],
})
class AppModule {}

async function start(): Promise<void> {
  const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error'] });
  await app.listen(Number(process.env.PORT), '127.0.0.1');
}

start().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
