# Whether units of a wider instruction set define a weak symbol (a function of a header that was not inlined, or what
# one shares). Of several units that define one, the linker takes it from any: code for AVX-512 would run for the
# baseline. `cmake -DNM=nm "-DOBJECTS=a.o;b.o" -P symbols.cmake`: objects of ELF, optimised as users have them.
execute_process(COMMAND ${NM} --demangle --print-file-name --defined-only ${OBJECTS} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]* [uVW] [^\n]*" weak "${symbols}")
if(NOT symbols OR weak)
  string(JOIN "\n  " weak ${weak})
  message(FATAL_ERROR "expected symbols, none of which is weak, in units of wider instruction sets, got:\n  ${weak}")
endif()
