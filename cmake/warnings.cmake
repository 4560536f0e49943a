# bitfold_warnings(TARGET): the warnings that all of bitfold's own C is clean under.
function(bitfold_warnings target)
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wconversion -Wvla
                                -Wmissing-prototypes -Wstrict-prototypes>
        $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
    set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ${BITFOLD_WERROR})
endfunction()

# bitfold_frames(TARGET BYTES): no function of a release takes more of the stack.
function(bitfold_frames target bytes)
    target_compile_options(${target} PRIVATE
        $<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:Release>>:-Wframe-larger-than=${bytes}>)
endfunction()
